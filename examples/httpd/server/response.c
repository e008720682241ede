/* response.c - see response.h. */
#include "response.h"

#include <string.h>
#include <time.h>

#define DATE_BYTES 37 /* Date: Sun, 06 Nov 1994 08:49:37 GMT, CR, LF */

static const struct reason {
	int status;
	const char *text;
} reasons[] = {
	{200, "OK"},
	{400, "Bad Request"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{417, "Expectation Failed"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{503, "Service Unavailable"},
	{505, "HTTP Version Not Supported"},
};

static const char *reason_of(int status)
{
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "";
}

static char *put(char *to, const char *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return to + bytes;
}

/* ----------------------------------------------------------------------------------------- date */

/* The line of a second. Each thread has its own, which is written and read without a suspension: a
 * coroutine may go on on another thread after that. */
struct date {
	time_t second;
	char line[DATE_BYTES + 1];
};
static _Thread_local struct date date;

static void write_date(struct date *d)
{
	static const char names[] = "SunMonTueWedThuFriSatJanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm t;
	char form[DATE_BYTES + 1] = "Date: ___, %d ___ %Y %H:%M:%S GMT\r\n";

	gmtime_r(&d->second, &t);
	memcpy(form + 6, names + 3 * t.tm_wday, 3);
	memcpy(form + 14, names + 21 + 3 * t.tm_mon, 3);
	strftime(d->line, sizeof d->line, form, &t);
}

/* put_date - not inlined, so that no caller keeps the address of the thread's line. */
static __attribute__((noinline)) char *put_date(char *to)
{
	time_t now = time(NULL);

	if (now != date.second) {
		date.second = now;
		write_date(&date);
	}
	return put(to, date.line, DATE_BYTES);
}

/* -------------------------------------------------------------------------------------- writing */

static char *put_text(char *to, const char *text)
{
	return put(to, text, strlen(text));
}

#define PUT(to, literal) put(to, literal, sizeof literal - 1)

static char *put_number(char *to, size_t n)
{
	char digits[20], *d = digits + sizeof digits;

	do
		*--d = (char)('0' + n % 10);
	while (n /= 10);
	return put(to, d, (size_t)(digits + sizeof digits - d));
}

size_t response_head(const struct response *r, char *to)
{
	char *p = to;

	if (r->status == 200) {
		p = PUT(p, "HTTP/1.1 200 OK\r\n");
	} else {
		p = PUT(p, "HTTP/1.1 ");
		p = put_number(p, (size_t)r->status);
		p = PUT(p, " ");
		p = put_text(p, reason_of(r->status));
		p = PUT(p, "\r\n");
	}
	p = put_date(p);
	if (r->type) {
		p = PUT(p, "Content-Type: ");
		p = put_text(p, r->type);
		p = PUT(p, "\r\n");
	}
	if (r->fields)
		p = put_text(p, r->fields);
	if (r->close)
		p = PUT(p, "Connection: close\r\n");
	p = PUT(p, "Content-Length: ");
	p = put_number(p, r->body_bytes);
	p = PUT(p, "\r\n\r\n");
	return (size_t)(p - to);
}

void response_begin(struct response *r)
{
	r->status = 200;
	r->type = "text/plain";
	r->fields = NULL;
	r->body = r->room;
	r->body_bytes = 0;
	r->close = r->head = false;
}

void response_text(struct response *r, int status)
{
	r->status = status;
	r->body = r->room;
	r->body_bytes = (size_t)(PUT(put_text(r->room, reason_of(status)), "\n") - r->room);
}
