"""The filter of system calls for code of a model: no new process, no namespace, no mount, no network, no memory beside its own.

Limits of a process do not cover all of these: its children have limits of their own, and memory of a file system, of a shared segment
or of a namespace's mount is counted nowhere. So these calls answer "not permitted". The rest is allowed: an interpreter needs most of it.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

from ontology.errors import IsolationError

__all__ = ["syscall_filter"]

_REFUSED = """
fork 57 -1           vfork 58 -1          unshare 272 97          setns 308 268         mount 165 40          umount2 166 39
pivot_root 155 41    fsopen 430 430       fsconfig 431 431        fsmount 432 432       fspick 433 433        move_mount 429 429
open_tree 428 428    mount_setattr 442 442   memfd_create 319 279    memfd_secret 447 447   shmget 29 194      msgget 68 186
semget 64 190        mq_open 240 180      keyctl 250 219          add_key 248 217       request_key 249 218   bpf 321 280
ptrace 101 117       process_vm_readv 310 270   process_vm_writev 311 271   kcmp 312 272   pidfd_getfd 438 438   perf_event_open 298 241
userfaultfd 323 282  io_uring_setup 425 425   io_uring_enter 426 426   io_uring_register 427 427   name_to_handle_at 303 264
open_by_handle_at 304 265   syslog 103 116   fanotify_init 300 262   personality 135 92
""".split()
"""Name, number in the x86-64 and in the generic table of Linux (aarch64); -1: the machine does not have the call."""
_CLONE, _CLONE3, _SOCKET = (56, 220), (435, 435), (41, 198)
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # the column, and AUDIT_ARCH of linux/audit.h

_CLONE_THREAD = 0x00010000
_AF_UNIX = 1
_X32 = 0x40000000  # set in the numbers of a second x86 table, which the filter does not know

# Of linux/bpf_common.h and linux/seccomp.h.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # bytes into seccomp_data; the low half of the argument


def syscall_filter(machine: str) -> bytes:
    """Return the program, as ``bwrap --seccomp`` reads it.

    :param machine: as ``platform.machine()`` names it.
    :raises IsolationError: for one whose numbers are not known.
    """
    if machine not in _MACHINES:
        raise IsolationError(
            "no filter of system calls is known for this processor",
            subject=machine,
            remedy=f"Run code on one of: {', '.join(_MACHINES)}",
        )
    return b"".join(struct.pack("=HBBI", *each) for each in _program(*_MACHINES[machine]))


def _program(column: int, arch: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield instructions: code, jumps where its test is true and false, value."""
    yield _LOAD, 0, 0, _ARCH
    yield _EQUAL, 1, 0, arch
    yield _RETURN, 0, 0, _KILL
    yield _LOAD, 0, 0, _NUMBER
    yield _AT_LEAST, 0, 1, _X32
    yield _RETURN, 0, 0, _KILL
    for number in map(int, _REFUSED[1 + column :: 3]):
        if number >= 0:
            yield _EQUAL, 0, 1, number
            yield _RETURN, 0, 0, _ERRNO | errno.EPERM
    yield _EQUAL, 0, 1, _CLONE3[column]
    yield _RETURN, 0, 0, _ERRNO | errno.ENOSYS  # its flags are behind a pointer; C libraries then take clone
    for call, test, value in ((_CLONE, _ANY_BIT, _CLONE_THREAD), (_SOCKET, _EQUAL, _AF_UNIX)):
        yield _EQUAL, 0, 4, call[column]
        yield _LOAD, 0, 0, _FIRST_ARGUMENT
        yield test, 0, 1, value
        yield _RETURN, 0, 0, _ALLOW
        yield _RETURN, 0, 0, _ERRNO | errno.EPERM
    yield _RETURN, 0, 0, _ALLOW
