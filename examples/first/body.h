void steps(void *arg, void *result);
