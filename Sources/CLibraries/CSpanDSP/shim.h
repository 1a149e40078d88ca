#pragma once
#include <stdint.h>
#include <stdbool.h>
#include <spandsp.h>
