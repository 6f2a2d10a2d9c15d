#!/usr/bin/python3
"""A remote shell between the hosts of hosts.py, as mpirun needs one, without keys and accounts.

remote_shell.py HOST COMMAND …: runs the words, joined by blanks, in a shell on that host. Its output and
exit status become ours.
remote_shell.py serve ADDRESS: the server. It is the first process of its host, so it also waits for
orphaned processes."""
import os
import signal
import socket
import subprocess
import sys

PORT = 514
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8"}  # none of the caller's variables, as with ssh


def answer(connection):
    """One command: what it prints, then its exit status as the last byte."""
    with connection.makefile("rb") as lines:
        command = lines.readline().decode().rstrip("\n")
    process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT, cwd="/", start_new_session=True)
    try:
        while data := os.read(process.stdout.fileno(), 1 << 16):
            connection.sendall(data)
        connection.sendall(bytes([process.wait() & 0xFF]))
    except ConnectionError:
        pass  # the client has gone; the command goes on


def serve(listener):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel takes them
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(connection)
            os._exit(0)
        connection.close()


def listen(address):
    return socket.create_server((address, PORT))


def call(host, words):
    try:
        connection = socket.create_connection((host, PORT))
    except OSError as error:
        sys.exit(f"remote_shell: {host}: {error}")
    with connection:
        connection.sendall(" ".join(words).encode() + b"\n")
        kept = b""
        while data := connection.recv(1 << 16):
            kept += data
            sys.stdout.buffer.write(kept[:-1])
            sys.stdout.buffer.flush()
            kept = kept[-1:]
    return kept[0] if kept else 255


if __name__ == "__main__":
    sys.exit(call(sys.argv[1], sys.argv[2:]))
