#ifndef SHOP_H
#define SHOP_H

#include <stdint.h>

/* What shop is given, and what it finds in the end. */
struct shop_arg {
	char *path; /* of the database */
	int64_t customers, orders;
	int64_t worker; /* of the database: its number */
};

struct shop_sums {
	int64_t rows, amount; /* in the database */
	int64_t calls;        /* of SQLite */
	int64_t elsewhere;    /* of these, on another thread than the process's main one */
};

void shop(void *arg, void *result);

#endif
