/* child.c - see child.h. */
#include "child.h"

#include "layer.h"

#include "../test.h"

#include <sys/wait.h>
#include <unistd.h>

int child_end(pid_t pid, int fd, char *text, size_t bytes)
{
	size_t n = 0;
	int status;

	for (ssize_t got; n < bytes - 1 && (got = read(fd, text + n, bytes - 1 - n)) > 0;)
		n += (size_t)got;
	text[n] = 0;
	close(fd);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

pid_t child_start(int *fd)
{
	int both[2];

	CHECK_EQ(pipe(both), 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		dup2(both[1], 2);
	else
		*fd = both[0];
	if (pid == 0)
		close(both[0]);
	close(both[1]);
	return pid;
}

int in_child(void (*run)(int), int arg, char *text, size_t bytes)
{
	int fd;
	pid_t pid = child_start(&fd);
	if (pid == 0) {
		run(arg);
		fault_last_words();
		_exit(0);
	}
	return child_end(pid, fd, text, bytes);
}

void overflows(void *arg, void *result)
{
	volatile char frame[2000];
	frame[0] = arg == NULL;
	if (frame[0])
		overflows(arg, result);
	frame[0] = 0;
}
