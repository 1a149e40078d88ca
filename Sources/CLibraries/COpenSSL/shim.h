#pragma once
// As CLinux has it: types such as fd_set must look the same in every module.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
