#include "tools/prepare/selected_rows.hpp"

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools {
namespace {

data::SourceConfig make_source_config(const PrepareConfig& config) {
    return {.inputs = config.inputs,
            .format = config.format,
            .unit = config.rows.value_or(data::RowUnit::paragraph),
            .synthetic = config.synthetic,
            .count = config.count,
            .seed = config.seed};
}

// Words for messages about rows of one kind.
struct KindWording {
    const char* plural;
    const char* remedy;  // the usual remedy for a bad row
};

KindWording find_wording(data::RowKind kind) {
    switch (kind) {
        case data::RowKind::text:
        case data::RowKind::labelled_text:
            return {.plural = "rows", .remedy = "repair the row"};
        case data::RowKind::question:
            return {.plural = "questions", .remedy = "repair the question"};
        case data::RowKind::image:
            return {.plural = "images", .remedy = "copy the file again"};
    }
    throw BugError("no remedy is defined for this kind of rows");
}

}  // namespace

SelectedRows::SelectedRows(const PrepareConfig& config)
    : reader_(make_source_config(config)), filter_(config.row_filter), skips_bad_rows_(config.skip_bad) {}

bool SelectedRows::next(data::SourceRow& row) {
    while (reader_.next(row)) {
        if (!row.fault.empty())
            refuse(row, row.fault);
        else if (filter_.select(row))
            return true;
    }
    return false;
}

void SelectedRows::refuse(const data::SourceRow& row, const std::string& fault, const std::string& remedy) {
    const std::string located_fault = cat(row.location, ": ", fault);
    const KindWording wording = find_wording(reader_.kind());
    if (!skips_bad_rows_)
        throw ConfigError(cat(located_fault, "; ", remedy.empty() ? wording.remedy : remedy, ", or skip bad ",
                              wording.plural, " with --skip-bad"));
    if (skipped_++ == 0) first_fault_ = located_fault;
}

void SelectedRows::check_not_empty() const {
    filter_.check_selection();
    if (filter_.rows_seen() > 0) return;
    if (skipped_ > 0)
        throw ConfigError(cat("no row can be used; --skip-bad skipped ", format_count(skipped_, "bad row"),
                              ", the first: ", first_fault_));
    if (reader_.unanswerable_questions() > 0)
        throw ConfigError(cat("no question has an answer (",
                              format_count(reader_.unanswerable_questions(), "unanswerable question"),
                              "); there is nothing to train on"));
    throw ConfigError("the input has no rows");
}

}  // namespace trireme::tools
