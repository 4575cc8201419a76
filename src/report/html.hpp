// Makes HTML elements, and formats text and numbers for the page of a report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::report {

// Replaces the special characters of HTML, for text in elements and in quoted attributes.
std::string escape_html(std::string_view text);

// Returns <name class="kind">content</name>, without a class if `kind` is empty. `content` is HTML.
std::string make_element(const char* name, const std::string& content, const char* kind = "");

// Returns an HTML table. Cells are HTML. The first row is the head if `has_head` is true. The first cell of
// each other row is the header of that row.
std::string make_table(const std::vector<std::vector<std::string>>& rows, bool has_head);

// Format numbers for people.
std::string format_with_commas(double whole_number);  // 1,098,250
std::string format_significant(double value);         // 4 digits (0.7745, 3.4e-8); whole from 1,000 on (17,490)
std::string format_percent(double fraction);          // "37.6 %" for 0.376
std::string format_megabytes(double bytes);           // "113.0 MB"
std::string format_gigaflops(double operations_per_s);     // "119.5 GFLOP/s"
std::string format_duration(double seconds);               // "12.3 s", "1 min 3 s", "2 h 5 min"
std::string format_plural(double count, const char* one);  // "1 rank", "1,200 ranks"

}  // namespace trireme::report
