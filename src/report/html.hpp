// HTML elements, and text and numbers as the page shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::report {

// Escapes text for elements and quoted attributes.
std::string escaped(std::string_view text);

// Returns <name class="kind">content</name>, without a class if `kind` is empty. `content` is HTML.
std::string element(const char* name, const std::string& content, const char* kind = "");

// Returns a table. Cells are HTML. The first row is the head if `has_head`; the first cell of
// each other row is its name.
std::string table(const std::vector<std::vector<std::string>>& rows, bool has_head);

// Format numbers for people.
std::string with_commas(double whole_number);       // 1,098,250
std::string significant(double value);              // up to 4 digits: 0.7745, 17,490, 3.4e-8
std::string percent(double share);                  // 0.376: "37.6 %"
std::string megabytes(double bytes);                // "113.0 MB"
std::string gigaflops(double operations_per_s);     // "119.5 GFLOP/s"
std::string duration(double seconds);               // "12.3 s", "1 min 3 s", "2 h 5 min"
std::string plural(double count, const char* one);  // "1 rank", "1,200 ranks"

}  // namespace trireme::report
