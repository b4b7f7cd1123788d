package io.floatvalve.spi;

import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.Locale;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** What a failure of TLS means, in words that say who has to mend what. Pure. */
public final class TlsFailure {
  private TlsFailure() {}

  /**
   * Returns what went wrong, with the JDK's own words behind.
   *
   * @param failure as it was thrown, or around that
   * @return null if it is none of TLS
   */
  public static @Nullable String words(@Nullable Throwable failure) {
    for (Throwable t = failure; t != null; t = t.getCause()) {
      if (t instanceof SSLException || t instanceof CertificateException) {
        String said = String.valueOf(t.getMessage());
        String meaning = meaning(t, said.toLowerCase(Locale.ROOT));
        return meaning.isEmpty() ? "TLS failed: " + said : meaning + " (" + said + ")";
      }
    }
    return null;
  }

  private static String meaning(Throwable failure, String said) {
    for (Throwable t = failure; t != null; t = t.getCause()) {
      if (t instanceof CertificateExpiredException) {
        return "the broker's certificate has expired";
      }
      if (t instanceof CertificateNotYetValidException) {
        return "the broker's certificate is not valid yet";
      }
      if (t instanceof CertPathBuilderException) {
        return "the broker's certificate was signed by nobody who is trusted here";
      }
    }
    if (said.startsWith("no name matching") || said.startsWith("no subject alternative")) {
      return "the broker's certificate is for another host";
    }
    if (said.startsWith("unsupported or unrecognized ssl message")) {
      return "no TLS is spoken at this port";
    }
    return said.contains("fatal alert") ? alert(said) : "";
  }

  /** The peer's words on us: the names are those of RFC 8446, section 6. */
  private static String alert(String said) {
    if (said.contains("certificate_required")) {
      return "the broker wants a certificate of ours that it trusts, and was shown none";
    }
    if (said.contains("unknown_ca")
        || said.contains("bad_certificate")
        || said.contains("certificate_expired")
        || said.contains("certificate_revoked")
        || said.contains("certificate_unknown")
        || said.contains("unsupported_certificate")) {
      return "the broker does not trust ours, or wants a certificate of ours and was shown none";
    }
    if (said.contains("protocol_version") || said.contains("handshake_failure")) {
      return "the broker and this JVM have no version or cipher of TLS in common,"
          + " or the broker wants a certificate of ours";
    }
    return "the broker ended the handshake";
  }
}
