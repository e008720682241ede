/*
 * report.h - names and C frames in the core's reports of faults (base/fault.h).
 */
#ifndef COROI_REPORT_H
#define COROI_REPORT_H

/* coroi_report_install - have the core's reports show them from now on. To be called before
 * main. */
void coroi_report_install(void);

#endif
