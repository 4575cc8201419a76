#include "report/html.hpp"

#include <fmt/format.h>

#include <cmath>

#include "trireme/base/error.hpp"

namespace trireme::report {

std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        switch (c) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            case '\'':
                safe += "&#39;";
                break;
            default:
                safe += c;
        }
    }
    return safe;
}

std::string element(const char* name, const std::string& content, const char* kind) {
    const std::string attribute = *kind == '\0' ? "" : cat(" class=\"", kind, "\"");
    return cat("<", name, attribute, ">", content, "</", name, ">\n");
}

std::string table(const std::vector<std::vector<std::string>>& rows, bool has_head) {
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
    return element("table", "\n" + lines);
}

std::string with_commas(double whole_number) {
    std::string digits = fmt::format("{:.0f}", whole_number);
    const std::size_t sign = digits.front() == '-' ? 1 : 0;
    for (std::size_t place = digits.size(); place > sign + 3;) {
        place -= 3;
        digits.insert(place, ",");
    }
    return digits;
}

std::string significant(double value) {
    const double size = std::abs(value);
    if (size >= 1000 && size < 1e12) return with_commas(value);
    std::string text = fmt::format("{:.4g}", value);
    const std::size_t exponent = text.find("e-0");  // "5e-05" becomes "5e-5"
    if (exponent != std::string::npos) text.erase(exponent + 2, 1);
    return text;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }
std::string gigaflops(double operations_per_s) { return fmt::format("{:.1f} GFLOP/s", operations_per_s / 1e9); }

std::string duration(double seconds) {
    if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 2 : 1);
    const auto whole = std::llround(seconds);
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string plural(double count, const char* one) {
    return fmt::format("{} {}{}", with_commas(count), one, count == 1 ? "" : "s");
}

}  // namespace trireme::report
