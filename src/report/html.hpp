// Text and numbers as the page shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::report {

// The text as HTML shows it, in elements and in quoted attributes.
std::string escaped(std::string_view text);

// <name class="kind">content</name>; no class where `kind` is empty. `content` is HTML.
std::string element(const char* name, const std::string& content, const char* kind = "");

// Rows of cells, which are HTML; the first row is the head where `has_head`, the first cell of others their
// name.
std::string table(const std::vector<std::vector<std::string>>& rows, bool has_head);

// Numbers as people read them.
std::string with_commas(double whole_number);       // 1,098,250
std::string significant(double value);              // up to 4 digits: 0.7745, 17,490, 3.4e-8
std::string percent(double share);                  // 0.376: "37.6 %"
std::string megabytes(double bytes);                // "113.0 MB"
std::string gigaflops(double operations_per_s);     // "119.5 GFLOP/s"
std::string duration(double seconds);               // "12.3 s", "1 min 3 s", "2 h 5 min"
std::string plural(double count, const char* one);  // "1 rank", "1,200 ranks"

}  // namespace trireme::report
