/*
 * pad.h - COMPARE_PAD bytes before the code of each file of the core, C and assembly alike.
 *
 * The compiler is told to include it first. A pad before the first file alone would move little:
 * the linker lets a file's code begin at the largest alignment of its functions, which takes the
 * pad up.
 */
#ifndef COMPARE_PAD_H
#define COMPARE_PAD_H

/* clang-format off */
#ifdef __ASSEMBLER__
	.text
coroi_compare_pad:
	.skip COMPARE_PAD
	.type coroi_compare_pad, %function
	.size coroi_compare_pad, . - coroi_compare_pad
#else
#define COMPARE_TEXT(x) COMPARE_TEXT_(x)
#define COMPARE_TEXT_(x) #x
__asm__(".text\n"
	"coroi_compare_pad:\n"
	"\t.skip " COMPARE_TEXT(COMPARE_PAD) "\n"
	"\t.type coroi_compare_pad, %function\n"
	"\t.size coroi_compare_pad, . - coroi_compare_pad\n");
#endif
/* clang-format on */

#endif
