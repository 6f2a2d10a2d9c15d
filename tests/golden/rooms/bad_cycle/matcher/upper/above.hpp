#include "below.hpp"
