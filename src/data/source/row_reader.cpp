#include <algorithm>
#include <optional>
#include <variant>

#include "data/source/cifar_file.hpp"
#include "data/source/mnist_files.hpp"
#include "data/source/source_inputs.hpp"
#include "data/source/squad_file.hpp"
#include "data/source/synthetic_rows.hpp"
#include "data/source/text_files.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {
namespace {

// The reader of one input. Every alternative has next(row), bytes_read() and position(). position() is the
// progress in the unit of SourceInput::size.
using OpenInput = std::variant<SyntheticRows, JsonLines, PlainText, SquadFile, CifarFile, MnistFiles>;

// Detects the format of a pipe, which cannot be inspected before it is read. Throws ConfigError unless the rows
// are text, because RowReader::kind() returns RowKind::text for a pipe of unknown format.
SourceFormat detect_pipe_format(InputFile& file) {
    const SourceFormat format = detect_format(file);
    if (find_kind(format) != RowKind::text)
        throw ConfigError(cat("the pipe ", file.path(), " has the format ", to_string(format),
                              "; add --format ", to_string(format)));
    return format;
}

OpenInput open_file(InputFile file, SourceFormat format, RowUnit unit) {
    switch (format) {
        case SourceFormat::automatic: {
            const SourceFormat found = detect_pipe_format(file);
            return open_file(std::move(file), found, unit);
        }
        case SourceFormat::jsonl:
            return JsonLines(std::move(file));
        case SourceFormat::text:
            return PlainText(std::move(file), unit);
        case SourceFormat::squad:
            return SquadFile(std::move(file));
        case SourceFormat::cifar10:
            return CifarFile(std::move(file));
        case SourceFormat::mnist:
            throw BugError("MNIST is read from two files");
    }
    throw BugError("this format has no reader");
}

OpenInput open_input(const SourceInput& input, const SourceConfig& config) {
    if (input.file.empty()) return SyntheticRows(config.count, config.seed);
    if (input.format == SourceFormat::mnist)
        return MnistFiles({.images = input.file, .labels = input.labels, .size = input.image});
    return open_file(InputFile(input.file), input.format, config.unit);
}

std::uint64_t count_unanswerable(const OpenInput& input) {
    const auto* squad = std::get_if<SquadFile>(&input);
    return squad == nullptr ? 0 : squad->unanswerable_questions();
}

}  // namespace

struct RowReader::State {
    SourceConfig config;
    std::vector<SourceInput> inputs;
    std::size_t input_index = 0;  // the input that `reader` reads, or the next input if `reader` is unset
    std::optional<OpenInput> reader;
    std::uint64_t bytes_before = 0;         // bytes_read() of the finished inputs
    std::uint64_t size_before = 0;          // SourceInput::size of the finished inputs
    std::uint64_t unanswerable_before = 0;  // unanswerable questions of the finished inputs

    void close() {
        bytes_before += std::visit([](const auto& open_reader) { return open_reader.bytes_read(); }, *reader);
        unanswerable_before += count_unanswerable(*reader);
        size_before += inputs[input_index].size;
        reader.reset();
        ++input_index;
    }
};

RowReader::RowReader(SourceConfig config) : state_(std::make_unique<State>()) {
    state_->inputs = list_source_inputs(config);
    state_->config = std::move(config);
}

RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;
RowReader::~RowReader() = default;

RowKind RowReader::kind() const { return find_kind(state_->inputs.front().format); }

ImageSize RowReader::image_size() const { return state_->inputs.front().image; }

std::vector<std::string> RowReader::class_names() const {
    if (state_->inputs.front().format == SourceFormat::cifar10) return CifarFile::class_names();
    return {};
}

bool RowReader::next(SourceRow& row) {
    State& state = *state_;
    while (state.input_index < state.inputs.size()) {
        if (!state.reader) state.reader.emplace(open_input(state.inputs[state.input_index], state.config));
        if (std::visit([&row](auto& open_reader) { return open_reader.next(row); }, *state.reader)) return true;
        state.close();
    }
    return false;
}

std::uint64_t RowReader::bytes_read() const {
    if (!state_->reader) return state_->bytes_before;
    return state_->bytes_before +
           std::visit([](const auto& open_reader) { return open_reader.bytes_read(); }, *state_->reader);
}

double RowReader::fraction_read() const {
    const State& state = *state_;
    std::uint64_t total = 0;
    for (const SourceInput& input : state.inputs) total += input.size;
    std::uint64_t done = state.size_before;
    if (state.reader)
        done += std::visit([](const auto& open_reader) { return open_reader.position(); }, *state.reader);
    return total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
}

std::uint64_t RowReader::unanswerable_questions() const {
    return state_->unanswerable_before + (state_->reader ? count_unanswerable(*state_->reader) : 0);
}

}  // namespace trireme::data
