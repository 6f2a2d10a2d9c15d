#pragma once

// What the processor can do. The C library knows it since the program's start. The compiler's own way asks
// the processor as each program starts that has it linked in, which takes 50 µs in a virtual machine.
#if defined(__x86_64__)
#if __has_include(<sys/platform/x86.h>) && !defined(__clang__)  // it uses _Bool, which clang's C++ has not
#include <sys/platform/x86.h>
#define SLUICE_PROCESSOR_HAS(feature, name) (CPU_FEATURE_ACTIVE(feature) != 0)
#else
#define SLUICE_PROCESSOR_HAS(feature, name) (__builtin_cpu_supports(name) != 0)
#endif
#endif
