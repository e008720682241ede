/*
 * report.h - the report of a fault in C on a thread that runs coroutines.
 */
#ifndef COROI_REPORT_H
#define COROI_REPORT_H

/* coroi_report_install - handle the signals of faults, once; after everybody whose handlers are to
 * be called afterwards. */
void coroi_report_install(void);

#endif
