#!/usr/bin/env bash
# calls.sh OBJECT... - the objects of the core call nothing outside that could fail, but what layer.c stands in for, and
#                      that from sys.c and sysio.c only.
# calls.sh --redefine - the options that make objcopy put layer.c's functions in the place of these.
set -euo pipefail

# What layer.c stands in for.
stood_in=(mmap munmap madvise mprotect malloc posix_memalign free syscall pthread_create pthread_attr_init
	pthread_attr_setstacksize pthread_setname_np prctl sched_setaffinity sched_getaffinity sigaltstack sigaction eventfd write
	close clock_gettime abort getauxval sysconf
	epoll_create1 epoll_ctl epoll_wait accept4 connect fcntl fstat fsync getaddrinfo getsockopt
	ioctl vsnprintf poll preadv preadv2 pwritev pwritev2 read readv recv recvmsg send sendfile sendmsg
	setsockopt shutdown writev)

# What cannot fail as it is used here: no resource is taken, and the arguments are right.
cannot_fail=(memcpy memset memmove strlen strnlen strcmp snprintf raise usleep
	sched_getcpu sched_yield getrusage __errno_location __sched_cpucount sigfillset sigdelset sigemptyset sigaddset sigismember sigtimedwait
	pthread_self pthread_sigmask pthread_attr_destroy pthread_join pthread_once
	pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_unlock
	pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_broadcast
	strerrordesc_np freeaddrinfo dl_iterate_phdr _GLOBAL_OFFSET_TABLE_ __stack_chk_fail __x86_return_thunk)

if [[ ${1:-} == --redefine ]]; then
	for f in "${stood_in[@]}"; do printf -- "--redefine-sym %s=fault_%s " "$f" "$f"; done
	exit
fi

bad=0
for object in "$@"; do
	symbols=$(nm -u "$object" 2>/dev/null)
	while read -r _ symbol; do
		case $symbol in '' | coro_* | coroi_*) continue ;; esac
		[[ " ${cannot_fail[*]} " == *" $symbol "* ]] && continue
		[[ $object == */sys.c.o || $object == */sysio.c.o ]] && [[ $symbol == fault_* ]] && continue
		echo "$object calls ${symbol#fault_}: it belongs into sys.c or sysio.c, with a stand-in in layer.c" >&2
		bad=1
	done <<<"$symbols"
done
exit $bad
