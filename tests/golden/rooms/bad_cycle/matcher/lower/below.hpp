#include "above.hpp"
