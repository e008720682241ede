/* child.c - see child.h. */
#include "child.h"

#include "layer.h"

#include "../test.h"

#include <unistd.h>

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
