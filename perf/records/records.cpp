// perf_records: compares documents with recorded files. perf/results/check starts it.
//
//   perf_records check RECORDS DOCUMENT...     checks that quoted figures and tables equal the files, and
//                                              that each record names its commit, tree and command
//   perf_records write RECORDS DOCUMENT...     updates the tables in the documents
//   perf_records compare NEW.csv RECORDED.csv  checks that each row of NEW equals a recorded one, apart
//                                              from the column `program`, the version of Trireme
//
// RECORDS is perf/results. Exit code 1 means that something differs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "records/csv.hpp"
#include "records/origins.hpp"
#include "records/quotes.hpp"
#include "records/tables.hpp"
#include "trireme/base/error.hpp"

namespace trireme::perf {
namespace {

namespace fs = std::filesystem;

constexpr const char* usage =
    "usage: perf_records check RECORDS DOCUMENT...\n"
    "       perf_records write RECORDS DOCUMENT...\n"
    "       perf_records compare NEW.csv RECORDED.csv\n";

std::size_t complain(const std::string& place, const std::vector<std::string>& wrong) {
    for (const std::string& sentence : wrong) fmt::print(stderr, "{}: {}\n", place, sentence);
    return wrong.size();
}

int check(const fs::path& records, const std::vector<std::string>& documents) {
    std::size_t wrong = complain(records.string(), find_unnamed_origins(records));
    std::size_t figures = 0;
    for (const std::string& document : documents) {
        const std::string text = read_text(document);
        wrong += complain(document, find_wrong_quotes(text, records));
        figures += count_quotes(text);
        if (update_tables(text, records) == text) continue;
        wrong += complain(document,
                          {"a table differs from its recorded file; perf_records write updates the table"});
    }
    fmt::print("figures quoted: {}; differences found: {}\n", figures, wrong);
    return wrong == 0 ? 0 : 1;
}

int write(const fs::path& records, const std::vector<std::string>& documents) {
    for (const std::string& document : documents) {
        const std::string text = update_tables(read_text(document), records);
        std::ofstream(document) << text;
    }
    return 0;
}

// Returns the row's cells as name=value, without the column `program`, which has the version of Trireme.
std::vector<std::string> comparable(const CsvTable& table, const std::vector<std::string>& row) {
    std::vector<std::string> cells;
    for (std::size_t column = 0; column < row.size(); ++column)
        if (table.columns[column] != "program") cells.push_back(cat(table.columns[column], "=", row[column]));
    return cells;
}

int compare(const fs::path& file, const fs::path& recorded) {
    const CsvTable ours = read_csv(file);
    const CsvTable theirs = read_csv(recorded);
    std::vector<std::vector<std::string>> known;
    for (const auto& row : theirs.rows) known.push_back(comparable(theirs, row));
    int differing = 0;
    for (const auto& row : ours.rows) {
        const std::vector<std::string> cells = comparable(ours, row);
        if (std::ranges::find(known, cells) != known.end()) continue;
        ++differing;
        fmt::print(stderr, "{} has no row with", recorded.string());
        for (const std::string& cell : cells) fmt::print(stderr, " {}", cell);
        fmt::print(stderr, "\n");
    }
    fmt::print("{} of {} rows equal a row of {}\n", ours.rows.size() - static_cast<std::size_t>(differing),
               ours.rows.size(), recorded.string());
    return differing == 0 && !ours.rows.empty() ? 0 : 1;
}

int act(const std::vector<std::string>& words) {
    if (words.size() == 3 && words[0] == "compare") return compare(words[1], words[2]);
    if (words.size() >= 3 && words[0] == "check") return check(words[1], {words.begin() + 2, words.end()});
    if (words.size() >= 3 && words[0] == "write") return write(words[1], {words.begin() + 2, words.end()});
    fmt::print(stderr, "{}", usage);
    return 2;
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) try {
    return trireme::perf::act({argv + 1, argv + argc});
} catch (const std::exception& error) {
    fmt::print(stderr, "perf_records: {}\n", error.what());
    return 2;
}
