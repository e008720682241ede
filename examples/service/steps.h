/* steps.h - the C coroutine of the service. */
void steps(void *arg, void *result); /* uint64_t: result uint64_t */
