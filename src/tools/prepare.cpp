#include "trireme/tools/prepare.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "tools/figures.hpp"
#include "tools/prepare_progress.hpp"
#include "tools/row_lengths.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/corpus.hpp"
#include "trireme/data/source.hpp"

namespace trireme {
namespace {

constexpr std::size_t training_bytes = 64'000'000;  // of text: more adds hours and hardly changes the merges
constexpr std::string_view train_prefix = "train:";

SourceConfig source_of(const PrepareConfig& config) {
    return {.inputs = config.inputs,
            .unit = row_unit_from_option(config.rows),
            .synthetic = config.synthetic,
            .count = config.count,
            .seed = config.seed};
}

std::string describe_source(const PrepareConfig& config) {
    if (!config.synthetic.empty())
        return cat("synthetic ", config.synthetic, ", count ", config.count, ", seed ", config.seed);
    std::string names;
    for (const std::string& input : config.inputs) names += cat(names.empty() ? "" : ", ", input);
    return names;
}

std::string describe_licence(const PrepareConfig& config) {
    if (!config.licence.empty()) return config.licence;
    return config.synthetic.empty() ? "not stated" : "none needed: the text is generated";
}

// The rows a user asked for: bad ones end the run or are counted, unwanted ones are passed over.
class WantedRows {
public:
    explicit WantedRows(const PrepareConfig& config)
        : reader_(source_of(config)), filter_(config.where), skip_bad_(config.skip_bad) {}

    bool next(SourceRow& row) {
        while (reader_.next(row)) {
            if (!row.fault.empty())
                refuse(row, row.fault);
            else if (filter_.keeps(row))
                return true;
        }
        return false;
    }

    // After the last row.
    void check_any() const {
        filter_.check_selection();
        if (filter_.rows_seen() == 0 && skipped_ > 0)
            throw ConfigError(cat("all ", skipped_, " rows were left out as bad; the first: ", first_fault_));
        if (filter_.rows_seen() == 0) throw ConfigError("the input is empty: it holds no rows");
    }

    const RowReader& reader() const { return reader_; }
    // Counts a bad row, or throws where bad rows are not to be left out.
    void refuse(const SourceRow& row, const std::string& fault, const std::string& remedy = "repair the row") {
        const std::string what = cat(row.place, ": ", fault);
        if (!skip_bad_) throw ConfigError(cat(what, "; ", remedy, ", or leave bad rows out with --skip-bad"));
        if (skipped_++ == 0) first_fault_ = what;
    }

    std::uint64_t skipped() const { return skipped_; }
    std::uint64_t filtered() const { return filter_.rows_seen() - filter_.rows_kept(); }
    const std::string& first_fault() const { return first_fault_; }

private:
    RowReader reader_;
    RowFilter filter_;
    bool skip_bad_;
    std::uint64_t skipped_ = 0;
    std::string first_fault_;
};

std::size_t trained_size(const std::string& option) {
    const std::string_view digits = std::string_view(option).substr(train_prefix.size());
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw ConfigError(
            cat("--tokenizer '", option, "': '", digits, "' is no vocabulary size; write train:4096"));
    return size;
}

Tokenizer train_tokenizer(const PrepareConfig& config, PrepareProgress& progress) {
    const std::size_t size = trained_size(config.tokenizer);
    WantedRows rows(config);
    std::vector<std::string> texts;
    std::size_t bytes = 0;
    SourceRow row;
    while (bytes < training_bytes && rows.next(row)) {
        if (row.is_ids)
            throw ConfigError(cat(row.place, " is an id row, from which --tokenizer ", config.tokenizer,
                                  " cannot learn; name the tokenizer that made the ids: gpt2:DIR, say"));
        texts.emplace_back(row.text());
        bytes += texts.back().size();
    }
    if (bytes < training_bytes) rows.check_any();
    progress.say(cat("learning ", size, " tokens from ", in_megabytes(static_cast<double>(bytes)), " of text"));
    return Tokenizer::trained(texts, size);
}

Tokenizer choose_tokenizer(const PrepareConfig& config, PrepareProgress& progress) {
    if (config.tokenizer.starts_with(train_prefix)) return train_tokenizer(config, progress);
    return tokenizer_from_option(config.tokenizer);
}

// What is wrong with an id row; empty: nothing.
std::string fault_of_ids(const SourceRow& row, const Tokenizer& tokenizer) {
    const auto beyond = std::find_if(row.ids.begin(), row.ids.end(),
                                     [&](std::uint32_t id) { return id >= tokenizer.vocabulary_size(); });
    if (beyond == row.ids.end()) return {};
    return cat("id ", *beyond, " is beyond the vocabulary of ", tokenizer.vocabulary_size(), " (tokenizer ",
               tokenizer.name(), ")");
}

void encode_row(const SourceRow& row, const Tokenizer& tokenizer, std::vector<std::uint32_t>& tokens) {
    tokens.clear();
    if (row.is_ids) {
        tokens = row.ids;
    } else {
        tokenizer.encode(row.text(), tokens);
    }
}

// The output would take the place of an input, and a pipe cannot be read twice: once to learn, once to encode.
void check_files(const PrepareConfig& config) {
    for (const std::string& input : config.inputs) {
        std::error_code ignored;  // of files that are not there: opening them says so
        if (std::filesystem::equivalent(input, config.output, ignored))
            throw ConfigError(cat("--output ", config.output, " is the input ", input, "; name another file"));
        const bool is_pipe = std::filesystem::is_fifo(input, ignored);
        if (is_pipe && config.tokenizer.starts_with(train_prefix))
            throw ConfigError(cat(input, " is a pipe, which can be read only once, and --tokenizer ",
                                  config.tokenizer, " reads it twice; write it to a file first"));
    }
}

void fill_lengths(std::vector<std::uint64_t> lengths, PrepareReport& report) {
    const RowLengths summary = summarise(std::move(lengths));
    report.shortest = summary.shortest;
    report.p50 = summary.p50;
    report.p90 = summary.p90;
    report.p99 = summary.p99;
    report.longest = summary.longest;
}

}  // namespace

PrepareReport prepare(const PrepareConfig& config, std::ostream& out) {
    if (config.output.empty()) throw ConfigError("prepare needs a file to write: --output corpus.h5");
    check_files(config);
    PrepareProgress progress(out, config.quiet);
    WantedRows rows(config);
    const Tokenizer tokenizer = choose_tokenizer(config, progress);
    CorpusWriter writer(config.output, tokenizer, describe_source(config), config.where,
                        describe_licence(config));

    PrepareReport report;
    std::vector<std::uint64_t> lengths;
    std::vector<std::uint32_t> tokens;
    SourceRow row;
    while (rows.next(row)) {
        if (const std::string fault = fault_of_ids(row, tokenizer); !fault.empty()) {
            rows.refuse(row, fault, "name the tokenizer that made the ids (--tokenizer gpt2:DIR, say)");
            continue;
        }
        encode_row(row, tokenizer, tokens);
        if (tokens.empty()) {
            ++report.empty_rows;
            continue;
        }
        writer.add(tokens);
        lengths.push_back(tokens.size());
        report.tokens += tokens.size();
        progress.show(lengths.size(), rows.reader());
    }
    rows.check_any();
    if (lengths.empty())
        throw ConfigError(
            cat("all ", report.empty_rows, " rows are empty texts; there is nothing to train on"));
    const CorpusInfo info = writer.finish();

    report.rows = info.rows;
    report.skipped_rows = rows.skipped();
    report.filtered_rows = rows.filtered();
    report.bytes_in = rows.reader().bytes_read();
    report.seconds = progress.seconds();
    fill_lengths(std::move(lengths), report);
    progress.summarise(info, report, rows.first_fault());
    return report;
}

}  // namespace trireme
