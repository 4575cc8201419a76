// Numbers as people read them.
#pragma once

#include <string>

namespace trireme::report {

std::string with_commas(double whole_number);       // 1,098,250
std::string significant(double value);              // up to 4 digits: 0.7745, 17,490, 3.4e-8
std::string percent(double share);                  // 0.376: "37.6 %"
std::string megabytes(double bytes);                // "113.0 MB"
std::string gigaflops(double operations_per_s);     // "119.5 GFLOP/s"
std::string duration(double seconds);               // "12.3 s", "1 min 3 s", "2 h 5 min"
std::string plural(double count, const char* one);  // "1 rank", "1,200 ranks"

}  // namespace trireme::report
