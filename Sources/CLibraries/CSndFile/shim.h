#pragma once
// As CLinux has it: types such as fd_set must look the same in every module.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sndfile.h>
