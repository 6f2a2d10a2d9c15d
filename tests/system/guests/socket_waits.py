#!/usr/bin/python3
"""socket_waits.py BUILD CASE: programs whose processes wait for each other by sockets, pipes with names, events and other processes, while others wait for files. It is a cycle of waits only where nobody can ever wake anybody."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
import wait_runs
from harness import clear_directory
from wait_runs import RULES, ends_as_cycle, goes_on

build, case = sys.argv[1:3]
harness.LIMIT_S = 300  # a proof takes long on a busy machine
PLAIN = "cat a.dat > b.dat"

# The way is the name of a function. Each reads b.dat in another process, hears of it, and writes a.dat.
HEARS = """import asyncio, concurrent.futures, multiprocessing, os, socket, sys

def size(path='b.dat'):
    try: return b'%d' % len(open(path, 'rb').read())
    except OSError: return b'none'

def by(pair, hear, tell):
    if os.fork() == 0:
        tell(pair[1], size())
        os._exit(0)
    return hear(pair[0])

def stream(): return by(socket.socketpair(), lambda end: end.recv(9), socket.socket.send)
def datagrams(): return by(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM), lambda end: end.recvmsg(9)[0], socket.socket.send)
def packets(): return by(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET), lambda end: os.read(end.fileno(), 9), socket.socket.send)
def connection(): return by(multiprocessing.Pipe(), lambda end: end.recv(), lambda end, what: end.send(what))
def event(): return b'%d' % by([os.eventfd(0)] * 2, os.eventfd_read, lambda end, what: os.eventfd_write(end, 1))

def listener():
    listening, other = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listening.bind('name')
    listening.listen()
    other.connect('name')
    accepted = listening.accept()[0]
    listening.close()
    return by((accepted, other), lambda end: end.recv(9), socket.socket.send)

def full():
    near, far = socket.socketpair()
    if os.fork() == 0:
        size()
        while far.recv(1 << 20): pass
        os._exit(0)
    far.close()
    near.sendall(bytes(1 << 24))
    return b'1'

def executor():
    with concurrent.futures.ProcessPoolExecutor(2) as pool: return pool.submit(size).result()

def process_ends():
    child = os.fork()
    if child == 0: os._exit(len(size()) == 0)
    import select
    poll = select.poll()
    poll.register(os.pidfd_open(child), select.POLLIN)
    return b'%d' % len(poll.poll())

def loop():
    async def read():
        child = await asyncio.create_subprocess_exec('cat', 'b.dat', stdout=asyncio.subprocess.PIPE)
        return (await child.communicate())[0]
    return asyncio.run(read())

if __name__ == '__main__':
    heard = globals()[sys.argv[1]]()
    open('a.dat', 'wb').write(heard)
"""
CYCLES = {way: (f"python3 ../hears.py {way}", PLAIN) for way in
          ("stream", "datagrams", "packets", "connection", "event", "listener", "full", "executor", "process_ends", "loop")}
CYCLES_OF_NAMED_PIPES = {
    "both_ends": ("mkfifo pipe; cat b.dat > pipe & wc < pipe > a.dat; wait", PLAIN),
    "reader_behind": ("mkfifo pipe; wc < pipe > a.dat & cat b.dat > pipe; wait", PLAIN),
    "two_pipes": ("mkfifo one two; cat b.dat > one & tr a b < one > two & wc < two > a.dat; wait", "mkfifo pipe; cat a.dat > pipe & cat < pipe > b.dat"),
    "removed": ("mkfifo pipe; exec 3<>pipe; rm pipe; (cat b.dat >&3; echo >&3) & read -r x <&3; echo $x > a.dat; wait", PLAIN),
    "tee": ("mkfifo pipe; wc -c < pipe > size & cat b.dat | tee pipe > a.dat; wait", PLAIN),
    "both_components": ("mkfifo p; cat b.dat > p & cp p a.dat; wait", "mkfifo q; cat a.dat > q & cp q b.dat; wait"),
}

# A process that is no part of the run, and nobody's child, wakes them after some seconds. It runs the function of this name.
OUTSIDE = """import os, select, socket, sys, time

def outside(code, keeps=()):
    if os.fork(): return os.wait()
    if os.fork(): os._exit(0)
    os.setsid()
    for end in keeps: os.set_inheritable(end.fileno(), True)
    os.execve(sys.executable, ['python3', '-c', 'import os, socket, time; ' + code], {})

def given():
    near, far = socket.socketpair()
    outside(f'time.sleep(3); os.write({far.fileno()}, b"1")', [far])
    far.close()
    near.recv(9)

def shared():
    near, far = socket.socketpair()
    outside(f'time.sleep(3); os.write({far.fileno()}, b"1")', [far])
    near.recv(9)

def shut():
    near, far = socket.socketpair()
    outside(f'time.sleep(3); socket.socket(fileno={near.fileno()}).shutdown(2)', [near])
    near.recv(9)

def datagram():
    near = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    near.bind('name')
    outside('time.sleep(3); socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"1", "name")')
    near.recv(9)

def connects():
    near = socket.socket(socket.AF_UNIX)
    near.bind('name')
    near.listen()
    outside('time.sleep(3); socket.socket(socket.AF_UNIX).connect("name")')
    near.accept()

def serves():
    listening, near = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listening.bind('name')
    listening.listen()
    outside(f's = socket.socket(fileno={listening.fileno()}).accept()[0]; time.sleep(3); s.send(b"1")', [listening])
    listening.close()
    near.connect('name')
    near.recv(9)

def network():
    listening = socket.create_server(('127.0.0.1', 0))
    near = socket.create_connection(listening.getsockname())
    far = listening.accept()[0]
    outside(f'time.sleep(3); os.write({far.fileno()}, b"1")', [far])
    near.recv(9)

def timed():
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, (3).to_bytes(8, 'little') + bytes(8))
    try: near.recv(9)
    except BlockingIOError: pass

def process():
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        if os.fork(): os._exit(0)
        os.setsid()
        os.write(here, b'%9d' % os.getpid())
        os.execve('/bin/sleep', ['sleep', '3'], {})
    os.wait()
    poll = select.poll()
    poll.register(os.pidfd_open(int(os.read(there, 9))), select.POLLIN)
    poll.poll()

def steered():
    os.mkfifo('pipe')
    end = os.open('pipe', os.O_RDWR)
    outside('time.sleep(3); open("pipe", "w").write("1")')
    os.read(end, 9)

def kept_open():
    os.mkfifo('pipe')
    near = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(near, True)
    kept = os.open('pipe', os.O_WRONLY)
    outside('time.sleep(3); open("pipe", "w").write("1")')
    os.read(near, 9)

def opened_late():
    os.mkfifo('pipe')
    outside('time.sleep(3); open("pipe", "w").write("1")')
    open('pipe').read()

if os.fork() == 0:
    size = len(open('b.dat').read())
    open('end', 'w').write(str(size))
    os._exit(0)
globals()[sys.argv[1]]()
open('a.dat', 'w').write('1')
os.wait()
"""
GOES_ON = {way: ({"a": f"python3 ../outside.py {way}", "b": PLAIN}, RULES) for way in
           ("given", "shared", "shut", "datagram", "connects", "serves", "network", "timed", "process", "steered", "kept_open", "opened_late")}


def run_each(ways, check):
    for name, text in (("hears.py", HEARS), ("outside.py", OUTSIDE)):
        with open(name, "w") as script:
            script.write(text)
    wait_runs.run_each(build, harness.MPI_ENVIRONMENT, ways, check)


def run_cycles(ways):
    run_each({name: ({"a": a, "b": b}, RULES) for name, (a, b) in ways.items()}, ends_as_cycle)


def cycles():
    """Nobody can act: the run ends, and names the cycle."""
    run_cycles(CYCLES)


def cycles_of_named_pipes():
    """Both ends of each pipe are held by processes that can do nothing."""
    run_cycles(CYCLES_OF_NAMED_PIPES)


def no_cycles():
    """Somebody whom the run does not know, or a time, wakes who waits."""
    run_each(GOES_ON, goes_on)


clear_directory()
globals()[case]()
