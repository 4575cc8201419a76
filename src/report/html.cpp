#include "report/html.hpp"

#include <fmt/format.h>

#include <cmath>

#include "trireme/base/error.hpp"

namespace trireme::report {

std::string escape_html(std::string_view text) {
    std::string html;
    for (const char c : text) {
        switch (c) {
            case '&':
                html += "&amp;";
                break;
            case '<':
                html += "&lt;";
                break;
            case '>':
                html += "&gt;";
                break;
            case '"':
                html += "&quot;";
                break;
            case '\'':
                html += "&#39;";
                break;
            default:
                html += c;
        }
    }
    return html;
}

std::string make_element(const char* name, const std::string& content, const char* kind) {
    const std::string attribute = *kind == '\0' ? "" : cat(" class=\"", kind, "\"");
    return cat("<", name, attribute, ">", content, "</", name, ">\n");
}

std::string make_table(const std::vector<std::vector<std::string>>& rows, bool has_head) {
    std::string lines;
    bool is_head = has_head;
    for (const std::vector<std::string>& row : rows) {
        std::string cells;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const char* name = is_head || i == 0 ? "th" : "td";
            cells += cat("<", name, ">", row[i], "</", name, ">");
        }
        lines += cat("<tr>", cells, "</tr>\n");
        is_head = false;
    }
    return make_element("table", "\n" + lines);
}

std::string format_with_commas(double whole_number) {
    std::string digits = fmt::format("{:.0f}", whole_number);
    const std::size_t sign = digits.front() == '-' ? 1 : 0;
    for (std::size_t position = digits.size(); position > sign + 3;) {
        position -= 3;
        digits.insert(position, ",");
    }
    return digits;
}

std::string format_significant(double value) {
    const double magnitude = std::abs(value);
    if (magnitude >= 1000 && magnitude < 1e12) return format_with_commas(value);
    std::string text = fmt::format("{:.4g}", value);
    const std::size_t exponent = text.find("e-0");  // "5e-05" becomes "5e-5"
    if (exponent != std::string::npos) text.erase(exponent + 2, 1);
    return text;
}

std::string format_percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }
std::string format_megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }
std::string format_gigaflops(double operations_per_s) {
    return fmt::format("{:.1f} GFLOP/s", operations_per_s / 1e9);
}

std::string format_duration(double seconds) {
    if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 2 : 1);
    const auto whole_seconds = std::llround(seconds);
    if (whole_seconds < 3600) return fmt::format("{} min {} s", whole_seconds / 60, whole_seconds % 60);
    return fmt::format("{} h {} min", whole_seconds / 3600, whole_seconds / 60 % 60);
}

std::string format_plural(double count, const char* one) {
    return fmt::format("{} {}{}", format_with_commas(count), one, count == 1 ? "" : "s");
}

}  // namespace trireme::report
