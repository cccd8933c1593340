"""Certificates of test servers on the loopback interface."""
import os
import shutil
import ssl
import subprocess

MISSING = "" if shutil.which("openssl") else "no openssl here to make a certificate"


def make_certificate(folder):
    """Makes a certificate for 127.0.0.1, signed by itself. Returns the file, which has its key, too."""
    certificate = os.path.join(folder, "certificate.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", certificate + ".key", "-out", certificate], check=True, capture_output=True)
    with open(certificate, "a") as both, open(certificate + ".key") as key:
        both.write(key.read())
    return certificate


def secured(socket, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context.wrap_socket(socket, server_side=True)
