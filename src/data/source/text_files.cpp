#include "data/source/text_files.hpp"

#include <string_view>

#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

void drop_carriage_return(std::string& line) {
    if (line.ends_with('\r')) line.pop_back();
}

[[noreturn]] void refuse_length(const SourceRow& row, std::uint64_t longest) {
    throw ConfigError(cat("the paragraph at ", row.place, " has more than ", longest,
                          " bytes without a blank line; split it, or prepare it with --rows line"));
}

}  // namespace

bool JsonLines::next(SourceRow& row) {
    do {
        if (!file_.next_line(line_)) return false;
    } while (is_blank(line_));
    parse_json_row(line_, row);
    row.place = cat(file_.path(), ':', file_.line_number());
    return true;
}

bool PlainText::next(SourceRow& row) {
    row = SourceRow{};
    switch (unit_) {
        case RowUnit::line:
            return next_line(row);
        case RowUnit::paragraph:
            return next_paragraph(row);
        case RowUnit::file:
            return whole_file(row);
    }
    throw BugError("a unit of rows without a reader");
}

bool PlainText::next_line(SourceRow& row) {
    do {
        if (!file_.next_line(row.plain, longest_)) return false;
        drop_carriage_return(row.plain);
    } while (row.plain.empty());
    row.place = cat(file_.path(), ':', file_.line_number());
    return true;
}

bool PlainText::next_paragraph(SourceRow& row) {
    do {
        if (!file_.next_line(line_, longest_)) return false;
    } while (is_blank(line_));
    row.place = cat(file_.path(), ':', file_.line_number());
    do {
        drop_carriage_return(line_);
        if (!row.plain.empty()) row.plain += '\n';
        row.plain += line_;
        if (row.plain.size() > longest_) refuse_length(row, longest_);
    } while (file_.next_line(line_, longest_) && !is_blank(line_));
    return true;
}

bool PlainText::whole_file(SourceRow& row) {
    row.place = cat(file_.path(), ":1");
    row.plain = file_.rest(longest_);
    return !row.plain.empty();
}

}  // namespace trireme::data
