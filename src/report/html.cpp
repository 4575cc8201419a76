#include "report/html.hpp"

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

}  // namespace trireme::report
