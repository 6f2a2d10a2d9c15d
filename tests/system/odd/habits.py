#!/usr/bin/python3
"""habits.py BUILD CASE: what models and their scripts do with files: restart files that are rotated, logs that are appended to, locks, tools that change files in place, large files, odd names."""
import sys

sys.path.append(sys.path[0].rpartition("/")[0])
import compared
from harness import clear_directory

build, case = sys.argv[1:3]
KEEP_OPEN = ", publish: exit"  # the writers open their files again


def restarts():
    """Restart files that are rotated, moved to their name, changed in place, and reached by a link."""
    clear_directory()
    compared.compare(build, r"""
for i in 1 2 3; do [ -e restart.dat ] && mv restart.dat restart.old.dat; echo r$i > restart.dat; done; cat restart.old.dat restart.dat; ls *.dat
""", r"""
cat restart.dat restart.old.dat; ls *.dat
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
for i in 1 2 3 4 5; do echo $i > new.dat; for k in 3 2 1; do [ -e h$k.dat ] && mv h$k.dat h$((k+1)).dat; done; mv new.dat h1.dat; done; head h*.dat
""", r"""
head h*.dat; ls new.dat 2>/dev/null || echo none
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
cat > n.dat <<X
&nml
 a=1,
/
X
sed -i 's/a=1/a=2/' n.dat; cat n.dat; sed -i.bak.dat 's/a=2/a=3/' n.dat; cat n.dat n.dat.bak.dat
""", r"""
grep a n.dat; diff n.dat n.dat.bak.dat || true
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
echo 1 > s1.dat; ln -s s1.dat latest.dat; cat latest.dat; echo 2 > s2.dat; ln -sfn s2.dat latest.dat; cat latest.dat; readlink latest.dat; echo more >> latest.dat; cat s2.dat; cp -P latest.dat l2.dat; readlink l2.dat; cp -L latest.dat l3.dat; cat l3.dat
""", r"""
cat latest.dat; readlink -f latest.dat | sed 's#.*/##'; cat l2.dat l3.dat; test -L latest.dat && echo link; test latest.dat -ef s2.dat && echo same
""", KEEP_OPEN)


def logs():
    """Logs that are appended to, by several processes, too, and read meanwhile."""
    clear_directory()
    compared.compare(build, r"""
exec 3>>run.dat; for i in 1 2 3; do echo l$i >&3; cat run.dat | wc -l; done; exec 3>&-; wc -c < run.dat
""", r"""
tail -n 2 run.dat; head -n1 run.dat; wc -l < run.dat
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
seq 5 | tee a.dat b.dat | wc -l; seq 3 | tee -a a.dat > /dev/null; wc -l a.dat b.dat
""", r"""
wc -l a.dat b.dat; cmp a.dat b.dat || echo differ
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
for i in 1 2 3 4; do (for j in 1 2 3 4 5; do echo $i$j >> all.dat; done) & done; wait; sort all.dat | md5sum; wc -l < all.dat; for i in 1 2 3; do { flock 9; n=$(cat n.dat 2>/dev/null || echo 0); echo $((n+1)) > n.dat; } 9> lk.dat & done; wait; cat n.dat
""", r"""
sort all.dat | md5sum; cat n.dat
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
exec 3> gone.dat; echo x >&3; rm gone.dat; echo y >&3; ls gone.dat 2>/dev/null || echo none; cat /proc/self/fd/3 2>/dev/null | wc -l; exec 3>&-; ls gone.dat 2>/dev/null || echo none; mktemp tmp.XXXX.dat | wc -c; d=$(mktemp -d d.XXXX); echo 1 > $d/x.dat; cat $d/x.dat; rm -r $d; ls -d d.* 2>/dev/null | wc -l
""", r"""
ls gone.dat 2>/dev/null || echo none; ls tmp.*.dat | wc -l
""", KEEP_OPEN)


def locks():
    """Locks by names and by flock, processes in the background, descriptors that are handed on."""
    clear_directory()
    compared.compare(build, r"""
(set -C; echo $$ > l.dat) 2>/dev/null && echo got; (set -C; echo x > l.dat) 2>/dev/null || echo busy; rm l.dat; (set -C; echo y > l.dat) && cat l.dat; flock l.dat -c 'echo in; cat l.dat'
""", r"""
flock -s l.dat cat l.dat; flock -n l.dat echo ok
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
mkdir lock.dat && echo got; mkdir lock.dat 2>/dev/null || echo busy; rmdir lock.dat; echo f > a.dat
""", r"""
cat a.dat; ls -d lock.dat 2>/dev/null || echo none
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
for i in 1 2 3; do (sleep 0.1; echo $i > bg$i.dat) & done; wait; cat bg?.dat; (echo late > late.dat) & wait $!; coproc cat > co.dat; echo hi >&${COPROC[1]}; eval "exec ${COPROC[1]}>&-"; wait; cat co.dat
""", r"""
cat bg?.dat late.dat co.dat
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
exec 5<>a.dat; echo one >&5; echo two >&5; cat a.dat; exec 6>&5; echo three >&6; exec 5>&-; echo four >&6; exec 6>&-; cat a.dat; { echo x; echo y; } > b.dat 2>&1; (echo s > c.dat) ; cat b.dat c.dat
""", r"""
mapfile -t L < a.dat; echo ${#L[@]} ${L[3]}; while read x; do echo "<$x>"; done < b.dat; read -r z < c.dat; echo $z; exec 7<a.dat; read -u 7 p; read -u 7 q; echo $p $q
""", KEEP_OPEN)


def tools():
    """Tools that split, sort, compress and change files, and make."""
    clear_directory()
    compared.compare(build, r"""
seq 1000 > all.dat; split -l 300 --additional-suffix=.dat all.dat part_; ls part_*; wc -l part_*.dat; csplit -s -b %d.dat -f c all.dat 500; wc -l c*.dat
""", r"""
cat part_*.dat | cmp - all.dat && echo same; cat c0.dat c1.dat | cmp - all.dat && echo same
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
printf '3\n1\n2\n' > a.dat; sort -o a.dat a.dat; cat a.dat; sort a.dat -T . -S 1k | tr '\n' ' '; shuf -i 1-5 -o s.dat; wc -l < s.dat; uniq a.dat u.dat; cat u.dat
""", r"""
sort -c a.dat && echo sorted; comm a.dat u.dat | wc -l; paste a.dat u.dat; join a.dat u.dat
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
seq 1000 > a.dat; gzip -k -S .gz.dat a.dat; ls *.dat; gzip -c a.dat > b.dat; xz -k -S .xz.dat a.dat; bzip2 -c a.dat > c.dat; rm a.dat; ls *.dat
""", r"""
gzip -dc b.dat | wc -l; gunzip -S .gz.dat -c a.dat.gz.dat | wc -l; xz -S .xz.dat -dc a.dat.xz.dat| wc -l; bzip2 -dc < c.dat | wc -l; file -b b.dat 2>/dev/null | cut -c1-4
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
awk 'BEGIN{for(i=0;i<5;i++) print i > "a" i%2 ".dat"; close("a0.dat"); while((getline l < "a0.dat")>0) print "r" l; print "x" >> "a0.dat"}'; cat a?.dat; perl -e 'open F,">p.dat";print F "1\n";close F;open F,"+<p.dat";seek F,0,2;print F "2\n";close F;rename "p.dat","q.dat"'; cat q.dat; perl -i.bak.dat -pe 's/1/9/' q.dat; cat q.dat q.dat.bak.dat
""", r"""
awk '{s+=$1} END{print s}' a0.dat a1.dat; perl -ne 'print if /9/' q.dat; gawk 1 q.dat 2>/dev/null || cat q.dat
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
dd if=/dev/zero of=z.dat bs=1k count=4 2>/dev/null; printf AB | dd of=z.dat bs=1 seek=10 conv=notrunc 2>/dev/null; dd if=z.dat bs=1 skip=10 count=2 2>/dev/null; stat -c %s z.dat; dd if=z.dat of=y.dat bs=512 count=1 oflag=append conv=notrunc 2>/dev/null; dd if=z.dat of=y.dat bs=512 count=1 oflag=append conv=notrunc,fsync 2>/dev/null; stat -c %s y.dat; fallocate -l 100k f.dat; stat -c '%s' f.dat; fallocate -p -o 0 -l 4k z.dat; stat -c %s z.dat; sync z.dat && echo synced
""", r"""
cmp -n 10 z.dat y.dat && echo; od -c y.dat | head -2; stat -c %s f.dat
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
printf 'b.dat: a.dat\n\tcp a.dat b.dat\nc.dat: b.dat\n\tcat a.dat b.dat > c.dat\n' > Makefile; echo 1 > a.dat; make -s c.dat; cat c.dat; make c.dat; touch a.dat; make -s c.dat; cat c.dat
""", r"""
make -q c.dat && echo uptodate; cat c.dat
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
seq 20 | xargs -P4 -I{} sh -c 'echo {} > f{}.dat'; ls f*.dat | wc -l; cat f*.dat | sort -n | tr '\n' ' '
""", r"""
ls f*.dat | xargs -P4 -n1 cat | sort -n | tr '\n' ' '; find . -name 'f*.dat' -print0 | xargs -0 wc -c | tail -1
""", KEEP_OPEN)


def large_and_odd_names():
    """Sparse files of more than 2 GiB; names with blanks, ends of lines and quotes, of 255 bytes."""
    clear_directory()
    compared.compare(build, r"""
truncate -s 3G big.dat; printf end >> big.dat; stat -c %s big.dat; dd if=/dev/zero of=b2.dat bs=1 count=1 seek=2500M 2>/dev/null; stat -c %s b2.dat; truncate -s 10 b2.dat; stat -c %s b2.dat
""", r"""
stat -c %s big.dat b2.dat; tail -c 3 big.dat; dd if=big.dat bs=1M skip=3071 count=1 2>/dev/null | wc -c
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
echo 1 > 'a b.dat'; echo 2 > $'n\nl.dat'; echo 3 > ü.dat; echo 4 > ./-x.dat; n=$(printf 'a%.0s' {1..251}).dat; echo 5 > $n; echo 6 > "q'\"\$.dat"; echo 7 > .h.dat; echo 8 > $'\001.dat'; ls -A *.dat .h.dat | wc -l; cat -- *.dat
""", r"""
cat -- *.dat; ls -Ab | grep dat; for f in *.dat; do wc -c < "$f"; done
""", KEEP_OPEN)


def fortran():
    """Units that are appended to, rewound, deleted, left open; streams and direct access."""
    clear_directory()
    compared.compare(build, r"""
cat > p.f90 <<X
program p
 integer :: i, k, ios
 logical :: e
 open(10,file='a.dat',form='formatted')
 do i=1,3
 write(10,*) i
 end do
 close(10)
 open(10,file='a.dat',position='append')
 write(10,*) 4
 rewind(10)
 read(10,*) k
 print *, k
 inquire(file='a.dat',exist=e)
 print *, e
 inquire(file='nix.dat',exist=e)
 print *, e
 open(11,file='b.dat',form='unformatted',access='stream')
 write(11) 1, 2, 3
 close(11)
 open(12,file='c.dat',form='unformatted',access='direct',recl=8)
 write(12,rec=3) 7_8
 close(12)
 open(13,file='d.dat',status='scratch',iostat=ios)
 print *, ios
 open(14,file='d.dat',status='new')
 write(14,*) 'x'
 close(14)
 open(14,file='d.dat',status='new',iostat=ios)
 print *, ios /= 0
 open(14,file='e.dat')
 write(14,*) 'del'
 close(14,status='delete')
 inquire(file='e.dat',exist=e)
 print *, e
 open(15,file='left.dat')
 write(15,*) 'left open'
end program
X
gfortran -o p p.f90 2>&1 && ./p; cat a.dat; wc -c b.dat c.dat
""", r"""
cat > q.f90 <<X
program q
 integer :: k, ios
 character(20) :: s
 integer(8) :: m
 open(10,file='a.dat')
 do
 read(10,*,iostat=ios) k
 if (ios/=0) exit
 print *, k
 end do
 open(12,file='c.dat',form='unformatted',access='direct',recl=8,action='read')
 read(12,rec=3) m
 print *, m
 open(13,file='left.dat',status='old')
 read(13,'(a)') s
 print *, s
end program
X
gfortran -o q q.f90 2>&1 && ./q
""", KEEP_OPEN)


def python():
    """h5py, numpy, sqlite3, temporary files."""
    clear_directory()
    compared.compare(build, r"""
/usr/bin/python3 - <<X
import h5py
f=h5py.File('a.dat','w'); f['x']=range(4); f.flush(); f.close()
f=h5py.File('a.dat','a'); f['y']=1; f.close()
f=h5py.File('s.dat','w',libver='latest'); d=f.create_dataset('d',(0,),maxshape=(None,)); f.swmr_mode=True; d.resize((3,)); d[:]=1; d.flush(); f.close()
f=h5py.File('l.dat','w'); f['e']=h5py.ExternalLink('a.dat','/x'); print(list(f['e'])); f.close()
try: h5py.File('a.dat','x')
except OSError: print('exists')
X
""", r"""
/usr/bin/python3 - <<X
import h5py
f=h5py.File('a.dat','r'); print(list(f), f['x'][:]); f.close()
f=h5py.File('s.dat','r',swmr=True); print(f['d'][:]); f.close()
print(h5py.File('l.dat')['e'][:], h5py.is_hdf5('a.dat'), h5py.is_hdf5('go.dat'))
X
""", KEEP_OPEN)
    clear_directory()
    compared.compare(build, r"""
/usr/bin/python3 - <<X
import numpy as np, pickle, sqlite3, json, csv, mmap, os, tempfile, shutil, pathlib
np.save('a.dat'.replace('.dat','.npy.dat'),np.arange(5)) if False else np.arange(5).tofile('a.dat')
m=np.memmap('mm.dat',dtype='f8',mode='w+',shape=(10,)); m[:]=3; m.flush(); del m
pickle.dump([1,2],open('p.dat','wb'))
c=sqlite3.connect('db.dat'); c.execute('create table t(x)'); c.execute('insert into t values(1)'); c.commit(); c.close()
json.dump({'a':1},open('j.dat','w'))
with tempfile.NamedTemporaryFile('w',dir='.',suffix='.dat',delete=False) as t: t.write('tmp')
os.replace(t.name,'atomic.dat')
pathlib.Path('pl.dat').write_text('x'); print(pathlib.Path('pl.dat').stat().st_size, sorted(p.name for p in pathlib.Path('.').glob('*.dat')))
shutil.copyfile('pl.dat','pl2.dat'); shutil.move('pl2.dat','pl3.dat'); print(os.path.exists('pl2.dat'), os.listdir('.').count('pl3.dat'))
X
""", r"""
/usr/bin/python3 - <<X
import numpy as np, pickle, sqlite3, json, os, glob, filecmp
print(np.fromfile('a.dat',dtype=int), np.memmap('mm.dat',dtype='f8',mode='r')[:2], pickle.load(open('p.dat','rb')), json.load(open('j.dat')))
print(sqlite3.connect('file:db.dat?mode=ro',uri=True).execute('select * from t').fetchall())
print(open('atomic.dat').read(), sorted(glob.glob('*.dat')), filecmp.cmp('pl.dat','pl3.dat'), [e.name for e in sorted(os.scandir('.'),key=lambda e:e.name) if e.name.endswith('.dat') and e.is_file() and e.stat().st_size==1])
X
""", KEEP_OPEN)


clear_directory()
globals()[case]()
