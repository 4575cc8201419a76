#include "trireme/tools/prepare.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/prepare/prepare_progress.hpp"
#include "tools/prepare/row_encoder.hpp"
#include "tools/prepare/row_tally.hpp"
#include "tools/prepare/selected_rows.hpp"
#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/corpus_info.hpp"
#include "trireme/data/corpus_writer.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme::tools {
namespace {

// Number of bytes of text after which the training of a tokenizer reads no further rows. More text costs hours
// and hardly changes the merges.
constexpr std::size_t max_training_bytes = 64'000'000;
constexpr std::string_view train_prefix = "train:";  // "train:4096" trains a tokenizer of 4096 tokens

// Returns the number after train_prefix. Throws ConfigError if it is no number.
std::size_t parse_vocabulary_size(const std::string& option) {
    const std::string_view digits = std::string_view(option).substr(train_prefix.size());
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw ConfigError(cat("--tokenizer '", option, "': '", digits,
                              "' is no vocabulary size; write, for example, train:4096"));
    return size;
}

// Collects the texts that a tokenizer is trained on. A context that successive questions share is added once.
class TrainingTexts {
public:
    void add(const data::SourceRow& row, data::RowKind kind) {
        if (kind != data::RowKind::question) return add(row.text());
        if (row.question.context != context_) {
            context_ = row.question.context;
            add(context_);
        }
        add(row.question.text);
    }

    const std::vector<std::string>& texts() const { return texts_; }
    std::size_t bytes() const { return bytes_; }

private:
    void add(std::string_view text) {
        texts_.emplace_back(text);
        bytes_ += text.size();
    }

    std::vector<std::string> texts_;
    std::string context_;    // of the last question
    std::size_t bytes_ = 0;  // of all texts
};

data::Tokenizer train_tokenizer(const PrepareConfig& config, data::RowKind kind, PrepareProgress& progress) {
    const std::size_t vocabulary_size = parse_vocabulary_size(config.tokenizer);
    SelectedRows rows(config);
    TrainingTexts texts;
    data::SourceRow row;
    while (texts.bytes() < max_training_bytes && rows.next(row)) {
        if (row.has_ids)
            throw ConfigError(cat(row.location, " is a row of token ids, but --tokenizer ", config.tokenizer,
                                  " needs rows of text; name the tokenizer that made the ids, for example "
                                  "gpt2:DIR"));
        texts.add(row, kind);
    }
    if (texts.bytes() < max_training_bytes) rows.check_not_empty();  // called after the last row only
    progress.print_message(cat("training a tokenizer of ", format_count(vocabulary_size, "token"), " on ",
                               format_megabytes(static_cast<double>(texts.bytes())), " of text"));
    return data::Tokenizer::train(texts.texts(), vocabulary_size);
}

// Returns true if a tokenizer is trained on the inputs. The inputs are then read twice.
bool trains_tokenizer(const PrepareConfig& config) { return config.tokenizer.starts_with(train_prefix); }

data::Tokenizer make_base_tokenizer(const PrepareConfig& config, data::RowKind kind,
                                    PrepareProgress& progress) {
    if (trains_tokenizer(config)) return train_tokenizer(config, kind, progress);
    return data::parse_tokenizer_option(config.tokenizer.empty() ? "bytes" : config.tokenizer);
}

// Returns true if the tokenizer gets [CLS], [SEP] and [MASK]. Throws ConfigError if --special-tokens has an
// unknown value.
bool adds_bert_tokens(const PrepareConfig& config, data::RowKind kind) {
    if (config.special_tokens != "none" && config.special_tokens != "bert")
        throw ConfigError(
            cat("--special-tokens '", config.special_tokens, "' is unknown; choose none or bert"));
    return kind == data::RowKind::question || config.special_tokens == "bert";
}

// Returns the tokenizer for rows of `kind`, texts or questions. Throws ConfigError if --tokenizer or
// --special-tokens has a wrong value, or if there is no text to train on.
data::Tokenizer choose_tokenizer(const PrepareConfig& config, data::RowKind kind, PrepareProgress& progress) {
    const bool has_bert_tokens = adds_bert_tokens(config, kind);  // throws before a long training
    const data::Tokenizer tokenizer = make_base_tokenizer(config, kind, progress);
    const std::array<std::string, 3> bert_tokens = {"[CLS]", "[SEP]", "[MASK]"};
    return has_bert_tokens ? tokenizer.with_special_tokens(bert_tokens) : tokenizer;
}

namespace fs = std::filesystem;

// An option of `prepare` that does not apply to every kind of rows.
struct OptionUse {
    std::string_view name;
    bool is_set;
    bool applies_to_questions;  // false: applies to texts only
};

// Returns all paths from which parse_tokenizer_option(option) may read a tokenizer. Most of these files do not
// exist.
std::vector<fs::path> list_tokenizer_files(const std::string& option) {
    constexpr std::string_view gpt2_prefix = "gpt2:";
    const fs::path path = option.starts_with(gpt2_prefix) ? option.substr(gpt2_prefix.size()) : option;
    return {path,
            path / "encoder.json",
            path / "vocab.bpe",
            path / "vocab.json",
            path / "merges.txt",
            path / "tokenizer.json"};
}

// Throws ConfigError if --output is unset, is a special file such as a pipe, or is a file of the tokenizer.
void check_output(const PrepareConfig& config) {
    if (config.output.empty())
        throw ConfigError("prepare needs a file to write; set, for example, --output corpus.h5");
    std::error_code ignored;  // the same error occurs and is reported when the file is opened
    const fs::file_status status = fs::status(config.output, ignored);
    const bool is_special_file =
        fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
    if (is_special_file)
        throw ConfigError(
            cat("--output ", config.output,
                " exists and is a pipe, a device or a socket, not a regular file; name another file"));
    for (const fs::path& file : list_tokenizer_files(config.tokenizer))
        if (fs::is_regular_file(file, ignored) && fs::equivalent(file, config.output, ignored))
            throw ConfigError(cat("--output ", config.output, " would overwrite the tokenizer file ",
                                  file.string(), "; name another file"));
}

// Throws ConfigError for the reasons of check_output(), if the output would replace an input, or if an input is
// a pipe and would be read twice.
void check_files(const PrepareConfig& config) {
    check_output(config);
    for (const std::string& input : config.inputs) {
        std::error_code ignored;  // a missing file is reported when it is opened
        if (fs::equivalent(input, config.output, ignored))
            throw ConfigError(
                cat("--output ", config.output, " would overwrite the input ", input, "; name another file"));
        if (fs::is_fifo(input, ignored) && trains_tokenizer(config))
            throw ConfigError(cat(input, " is a pipe, which can be read only once, but --tokenizer ",
                                  config.tokenizer, " reads inputs twice; write its data to a file first"));
    }
}

// Throws ConfigError for an option that does not apply to rows of `kind`.
void check_options_apply(const PrepareConfig& config, data::RowKind kind) {
    if (kind != data::RowKind::question && kind != data::RowKind::image) return;
    const std::array<OptionUse, 5> options = {{{"tokenizer", !config.tokenizer.empty(), true},
                                               {"special-tokens", config.special_tokens != "none", true},
                                               {"where", !config.row_filter.empty(), true},
                                               {"label", !config.label.empty(), false},
                                               {"rows", config.rows.has_value(), false}}};
    for (const OptionUse& option : options)
        if (option.is_set && !(kind == data::RowKind::question && option.applies_to_questions))
            throw ConfigError(cat("--", option.name, " does not apply to ",
                                  kind == data::RowKind::image ? "images" : "SQuAD questions", ", which ",
                                  config.inputs.front(), " contains; remove --", option.name));
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

data::CorpusDescription make_description(const PrepareConfig& config, const data::RowReader& reader,
                                         PrepareProgress& progress) {
    data::CorpusDescription description;
    const bool is_labelled = reader.kind() == data::RowKind::text && !config.label.empty();
    description.kind = is_labelled ? data::RowKind::labelled_text : reader.kind();
    if (description.kind != data::RowKind::image)
        description.tokenizer = choose_tokenizer(config, description.kind, progress);
    description.image = reader.image_size();
    description.source = describe_source(config);
    description.filter = config.row_filter;
    description.licence = describe_licence(config);
    return description;
}

// A pass over the selected rows: each row is read, encoded, written to the corpus and counted.
class Preparation {
public:
    Preparation(const PrepareConfig& config, SelectedRows& rows, PrepareProgress& progress)
        : rows_(rows),
          progress_(progress),
          description_(make_description(config, rows.reader(), progress)),
          encoder_(description_.kind, description_.tokenizer, config.label),
          writer_(config.output, description_) {}

    // Writes all rows and completes the corpus; called once. Throws ConfigError at a bad row without
    // --skip-bad, if no row was written, or if all rows are of one class.
    data::CorpusInfo run() {
        data::SourceRow row;
        data::CorpusRow encoded;
        while (rows_.next(row)) {
            if (const RowFault fault = encoder_.encode(row, encoded); !fault.reason.empty()) {
                rows_.refuse(row, fault.reason, fault.remedy);
            } else if (description_.kind != data::RowKind::image && encoded.tokens.empty()) {
                ++empty_rows_;
            } else {
                moved_answers_ += row.question.is_answer_moved ? 1 : 0;
                write_row(encoded);
            }
        }
        check_not_empty();
        std::vector<std::string> class_names = rows_.reader().class_names();
        if (class_names.empty()) {
            class_names = encoder_.class_names();
            check_classes(class_names);
        }
        return writer_.finish(std::move(class_names));
    }

    const RowTally& tally() const { return tally_; }
    std::uint64_t empty_rows() const { return empty_rows_; }
    std::uint64_t moved_answers() const { return moved_answers_; }

private:
    void write_row(const data::CorpusRow& row) {
        writer_.add(row);
        add_to_tally(row);
        progress_.update_progress(++written_rows_, rows_.reader());
    }

    void add_to_tally(const data::CorpusRow& row) {
        switch (description_.kind) {
            case data::RowKind::text:
                return tally_.add_tokens(row.tokens.size());
            case data::RowKind::labelled_text:
                tally_.add_tokens(row.tokens.size());
                return tally_.add_label(row.label);
            case data::RowKind::question:
                return tally_.add_question(row.tokens.size(), row.question.context_begin);
            case data::RowKind::image:
                return tally_.add_label(row.label);
        }
    }

    // Throws ConfigError with the reason if no row was written.
    void check_not_empty() const {
        rows_.check_not_empty();
        if (written_rows_ > 0) return;
        if (empty_rows_ > 0)
            throw ConfigError(cat("no row contains text (", format_count(empty_rows_, "empty row"),
                                  "); there is nothing to train on"));
        throw ConfigError(cat("no row can be used; --skip-bad skipped ",
                              format_count(rows_.skipped(), "bad row"), ", the first: ", rows_.first_fault()));
    }

    // Throws ConfigError if all rows are of one class. Called only for formats that do not name the classes.
    // `class_names` is empty if the classes are numbers.
    void check_classes(const std::vector<std::string>& class_names) const {
        const std::vector<std::uint64_t>& rows_per_class = tally_.classes();
        if (std::count_if(rows_per_class.begin(), rows_per_class.end(),
                          [](std::uint64_t rows) { return rows > 0; }) != 1)
            return;
        // rows_per_class ends with the highest class that a row has.
        const std::size_t only_class = rows_per_class.size() - 1;
        throw ConfigError(cat("all rows have the class ",
                              class_names.empty() ? std::to_string(only_class) : class_names[only_class],
                              ", but a model needs at least two classes to learn; ",
                              description_.kind == data::RowKind::image
                                  ? "add images of another class"
                                  : "name another field with --label, or remove --label"));
    }

    SelectedRows& rows_;
    PrepareProgress& progress_;
    data::CorpusDescription description_;
    RowEncoder encoder_;
    data::CorpusWriter writer_;
    RowTally tally_;
    std::uint64_t written_rows_ = 0;
    std::uint64_t empty_rows_ = 0;
    std::uint64_t moved_answers_ = 0;
};

// Returns the report without empty_rows, moved_answers and seconds, which the caller sets.
PrepareReport make_report(const data::CorpusInfo& info, const SelectedRows& rows, const RowTally& tally) {
    const RowLengths lengths = tally.lengths();
    PrepareReport report;
    report.rows = info.rows;
    report.tokens = info.tokens;
    report.skipped_rows = rows.skipped();
    report.filtered_rows = rows.filtered();
    report.unanswerable_questions = rows.reader().unanswerable_questions();
    report.classes = tally.classes();
    report.input_bytes = rows.reader().bytes_read();
    report.shortest = lengths.shortest;
    report.p50 = lengths.p50;
    report.p90 = lengths.p90;
    report.p99 = lengths.p99;
    report.longest = lengths.longest;
    return report;
}

PrepareReport prepare_files(const PrepareConfig& config, std::ostream& out) {
    check_files(config);
    PrepareProgress progress(out, config.quiet);
    SelectedRows rows(config);
    check_options_apply(config, rows.reader().kind());
    Preparation preparation(config, rows, progress);
    const data::CorpusInfo info = preparation.run();
    PrepareReport report = make_report(info, rows, preparation.tally());
    report.empty_rows = preparation.empty_rows();
    report.moved_answers = preparation.moved_answers();
    report.seconds = progress.seconds();
    progress.print_summary(info, report, preparation.tally(), rows.first_fault());
    return report;
}

}  // namespace

PrepareReport prepare(const PrepareConfig& config, std::ostream& out) {
    try {
        return prepare_files(config, out);
    } catch (const std::bad_alloc&) {
        throw ResourceError(
            "this input needs more memory than the machine has left: each row, each file of questions, and the "
            "texts that train a tokenizer must fit in memory; split long rows, or use a machine with more "
            "memory");
    }
}

}  // namespace trireme::tools
