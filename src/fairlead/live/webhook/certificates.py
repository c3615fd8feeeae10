"""Certificates made by ourselves: an authority, and what it signs for servers and users. Pure; `now` is given."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.dataclass import dataclass

AUTHORITY_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=365)
SLACK = timedelta(hours=1)
"""Certificates begin this much earlier, for machines whose clocks are behind."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM text."""

    certificate: str
    key: str


def make_authority(
    now: datetime, *, name: str = "fairlead webhook authority", life: timedelta = AUTHORITY_LIFE
) -> Pair:
    """A new certificate authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = _builder(own, own, key.public_key(), now, life)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(authority=True), critical=True)
    return Pair(_text(builder.sign(key, hashes.SHA256())), _key_text(key))


def issue(authority: Pair, names: Sequence[str], now: datetime, *, life: timedelta = SERVER_LIFE) -> Pair:
    """A server certificate for the given host names and addresses."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    shown = x509.SubjectAlternativeName([_name(each) for each in names])
    return _issue(authority, subject, ExtendedKeyUsageOID.SERVER_AUTH, now, life, shown)


def issue_user(
    authority: Pair, user: str, groups: Sequence[str], now: datetime, *, life: timedelta = SERVER_LIFE
) -> Pair:
    """A client certificate that an API server takes as `user` in `groups`."""
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    return _issue(authority, subject, ExtendedKeyUsageOID.CLIENT_AUTH, now, life)


def due(certificate: str, now: datetime) -> bool:
    """Whether two thirds of its life are over: time for a new one. Text that is no certificate is due."""
    try:
        found = _load(certificate)
    except ValueError:
        return True
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    return now >= begin + (end - begin) * 2 / 3


def readable(certificate: str) -> bool:
    """Whether the text is a certificate."""
    try:
        _load(certificate)
    except ValueError:
        return False
    return True


def ends(certificate: str) -> float:
    """Unix time at which the certificate ends."""
    return _load(certificate).not_valid_after_utc.timestamp()


def serves(certificate: str, authority: str, names: Sequence[str]) -> bool:
    """Whether the certificate was signed by the authority and is for all of these names."""
    try:
        found, issuer = _load(certificate), _load(authority)
        found.verify_directly_issued_by(issuer)
        shown = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return all(_name(each) in shown for each in names)


def first_of(bundle: str) -> str:
    """The first certificate of a bundle: the authority that signs now. Later ones are still trusted."""
    end = "-----END CERTIFICATE-----\n"
    head, found, _ = bundle.partition(end)
    return head + found


def _issue(
    authority: Pair,
    subject: x509.Name,
    use: x509.ObjectIdentifier,
    now: datetime,
    life: timedelta,
    *more: x509.ExtensionType,
) -> Pair:
    issuer, issuer_key = _load(authority.certificate), _load_key(authority.key)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(subject, issuer.subject, key.public_key(), now, life)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(authority=False), critical=True)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    for extension in (x509.ExtendedKeyUsage([use]), signer, *more):
        builder = builder.add_extension(extension, critical=False)
    return Pair(_text(builder.sign(issuer_key, hashes.SHA256())), _key_text(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SLACK)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _load(text: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(text.encode())


def _load_key(text: str) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(text.encode(), None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError("expected a key that is not encrypted, of a known algorithm") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("expected an elliptic curve key")
    return key


def _text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
