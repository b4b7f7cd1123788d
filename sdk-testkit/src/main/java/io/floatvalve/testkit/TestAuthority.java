package io.floatvalve.testkit;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.openssl.jcajce.JcaPEMWriter;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.jspecify.annotations.Nullable;

/**
 * Certificates for tests: an authority that nobody else knows, and what it signs, made in this JVM
 * within some hundred milliseconds. Immutable. Needs BouncyCastle's bcpkix on the class path.
 */
public final class TestAuthority {
  private static final AtomicLong SERIALS = new AtomicLong(1);
  private static final char[] NO_PASSWORD = new char[0];
  private static final int KEY_BITS = 2_048;

  /**
   * A certificate and its key.
   *
   * @param certificate as it was signed
   * @param key of RSA
   */
  public record Identity(X509Certificate certificate, PrivateKey key) {
    /** Returns the certificate as PEM. */
    public String certificatePem() {
      return pem(certificate);
    }

    /** Returns the key as PEM, PKCS #8 without a password. */
    public String keyPem() {
      String body =
          java.util.Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(key.getEncoded());
      return "-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END PRIVATE KEY-----\n";
    }

    /** Names the certificate's subject alone. */
    @Override
    public String toString() {
      return "Identity[" + certificate.getSubjectX500Principal() + "]";
    }
  }

  private final Identity own;
  private final KeyPair theirs;

  private TestAuthority(Identity own, KeyPair theirs) {
    this.own = own;
    this.theirs = theirs;
  }

  /**
   * Makes an authority.
   *
   * @param name of it, for messages
   */
  public static TestAuthority named(String name) {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
      generator.initialize(KEY_BITS);
      KeyPair keys = generator.generateKeyPair();
      X500Name subject = new X500Name("CN=" + name);
      var builder = builder(subject, subject, keys, Instant.now().plus(Duration.ofDays(1)));
      builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(true));
      Identity own = new Identity(sign(builder, keys.getPrivate()), keys.getPrivate());
      return new TestAuthority(own, generator.generateKeyPair());
    } catch (GeneralSecurityException | CertIOException e) {
      throw new IllegalStateException("no certificate can be made", e);
    }
  }

  /**
   * Signs a certificate that is valid for a day.
   *
   * @param host for which host it is, as {@code localhost}
   */
  public Identity issue(String host) {
    return issue(host, Instant.now().plus(Duration.ofDays(1)));
  }

  /** Signs a certificate that ended an hour ago. */
  public Identity issueExpired(String host) {
    return issue(host, Instant.now().minus(Duration.ofHours(1)));
  }

  private Identity issue(String host, Instant end) {
    try {
      X500Name issuer = new X500Name(own.certificate().getSubjectX500Principal().getName());
      var builder = builder(issuer, new X500Name("CN=" + host), theirs, end);
      builder.addExtension(
          Extension.subjectAlternativeName,
          false,
          new GeneralNames(new GeneralName(GeneralName.dNSName, host)));
      return new Identity(sign(builder, own.key()), theirs.getPrivate());
    } catch (GeneralSecurityException | CertIOException e) {
      throw new IllegalStateException("no certificate can be made", e);
    }
  }

  private static JcaX509v3CertificateBuilder builder(
      X500Name issuer, X500Name subject, KeyPair keys, Instant end) {
    return new JcaX509v3CertificateBuilder(
        issuer,
        BigInteger.valueOf(SERIALS.getAndIncrement()),
        Date.from(end.minus(Duration.ofDays(2))),
        Date.from(end),
        subject,
        keys.getPublic());
  }

  private static X509Certificate sign(JcaX509v3CertificateBuilder builder, PrivateKey signer)
      throws GeneralSecurityException {
    try {
      return new JcaX509CertificateConverter()
          .getCertificate(
              builder.build(new JcaContentSignerBuilder("SHA256withRSA").build(signer)));
    } catch (OperatorCreationException e) {
      throw new GeneralSecurityException(e);
    }
  }

  /** Returns the authority's own certificate as PEM: what those must trust who trust it. */
  public String pem() {
    return pem(own.certificate());
  }

  private static String pem(X509Certificate certificate) {
    StringWriter text = new StringWriter();
    try (JcaPEMWriter writer = new JcaPEMWriter(text)) {
      writer.writeObject(certificate);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  /**
   * Returns a context for either side of TLS that trusts what this authority signed, and nothing
   * else.
   *
   * @param shown the certificate to show, of this authority or another; null for none
   */
  public SSLContext context(@Nullable Identity shown) {
    try {
      KeyStore trusted = empty();
      trusted.setCertificateEntry("authority", own.certificate());
      TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
      trust.init(trusted);
      KeyStore held = empty();
      if (shown != null) {
        X509Certificate[] chain = {shown.certificate()};
        held.setKeyEntry("shown", shown.key(), NO_PASSWORD, chain);
      }
      KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
      keys.init(held, NO_PASSWORD);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalStateException("no TLS context can be made", e);
    }
  }

  private static KeyStore empty() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    return store;
  }

  /**
   * Writes what a server or client with this identity needs into a folder: {@code
   * PREFIX-authority.pem}, {@code PREFIX-certificate.pem} and {@code PREFIX-key.pem}.
   */
  public void write(Identity identity, Path folder, String prefix) {
    try {
      Files.writeString(folder.resolve(prefix + "-authority.pem"), pem());
      Files.writeString(folder.resolve(prefix + "-certificate.pem"), identity.certificatePem());
      Files.writeString(folder.resolve(prefix + "-key.pem"), identity.keyPem());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Names the authority. */
  @Override
  public String toString() {
    return "TestAuthority[" + own.certificate().getSubjectX500Principal() + "]";
  }
}
