#include "tools/prepare/wanted_rows.hpp"

#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

data::SourceConfig source_of(const PrepareConfig& config) {
    return {.inputs = config.inputs,
            .format = config.format,
            .unit = config.rows.value_or(data::RowUnit::paragraph),
            .synthetic = config.synthetic,
            .count = config.count,
            .seed = config.seed};
}

struct KindInWords {
    const char* plural;
    const char* remedy;
};

KindInWords in_words(data::RowKind kind) {
    switch (kind) {
        case data::RowKind::text:
        case data::RowKind::labelled_text:
            return {.plural = "rows", .remedy = "repair the row"};
        case data::RowKind::question:
            return {.plural = "questions", .remedy = "repair the question"};
        case data::RowKind::image:
            return {.plural = "images", .remedy = "copy the file again"};
    }
    throw BugError("a kind of rows without a remedy");
}

}  // namespace

WantedRows::WantedRows(const PrepareConfig& config)
    : reader_(source_of(config)), filter_(config.where), skip_bad_(config.skip_bad) {}

bool WantedRows::next(data::SourceRow& row) {
    while (reader_.next(row)) {
        if (!row.fault.empty())
            refuse(row, row.fault);
        else if (filter_.keeps(row))
            return true;
    }
    return false;
}

void WantedRows::refuse(const data::SourceRow& row, const std::string& fault, const std::string& remedy) {
    const std::string what = cat(row.place, ": ", fault);
    const KindInWords words = in_words(reader_.kind());
    if (!skip_bad_)
        throw ConfigError(cat(what, "; ", remedy.empty() ? words.remedy : remedy, ", or leave bad ",
                              words.plural, " out with --skip-bad"));
    if (skipped_++ == 0) first_fault_ = what;
}

void WantedRows::check_any() const {
    filter_.check_selection();
    if (filter_.rows_seen() > 0) return;
    if (skipped_ > 0)
        throw ConfigError(cat("all ", skipped_, " rows were left out as bad; the first: ", first_fault_));
    if (reader_.unanswerable() > 0)
        throw ConfigError(cat("all ", reader_.unanswerable(),
                              " questions are said to have no answer; there is nothing to train on"));
    throw ConfigError("the input is empty: it holds no rows");
}

}  // namespace trireme::tools
