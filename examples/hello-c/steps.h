/* steps.h - the C coroutine of hello-c. */
void steps(void *arg, void *result); /* uint64_t: result uint64_t */
