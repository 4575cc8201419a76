#include "schedule/programs/equal_rows.hpp"

#include <algorithm>

namespace trireme::schedule {
namespace {

// The numbers of teams and micro-batches in a shape that consists of rows.
struct RowSizes {
    int rows = 1;
    int teams = 1;         // per row
    int microbatches = 1;  // per row and step
};

std::optional<RowSizes> sizes_of(const PipelineShape& shape) {
    if (shape.holders.empty() || shape.executor.size() != shape.holders.size()) return std::nullopt;
    const int rows = static_cast<int>(shape.holders.front().size());
    const bool divides = rows > 1 && shape.teams % rows == 0 && shape.microbatches % rows == 0;
    if (!divides || shape.teams < 1 || shape.microbatches < 1) return std::nullopt;
    return RowSizes{rows, shape.teams / rows, shape.microbatches / rows};
}

// True if `numbers` has `each` numbers per row, and those of a row are `step` higher than those of the row
// before.
bool repeats(const std::vector<int>& numbers, const RowSizes& sizes, std::size_t each, int step) {
    if (numbers.size() != each * static_cast<std::size_t>(sizes.rows)) return false;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i < each && (numbers[i] < 0 || numbers[i] >= sizes.teams)) return false;
        if (i >= each && numbers[i] != numbers[i - each] + step) return false;
    }
    return true;
}

bool has_equal_rows(const PipelineShape& shape, const RowSizes& sizes) {
    const auto each = static_cast<std::size_t>(sizes.microbatches);
    for (std::size_t s = 0; s < shape.holders.size(); ++s) {
        if (!repeats(shape.holders[s], sizes, 1, sizes.teams)) return false;
        if (!repeats(shape.executor[s], sizes, each, sizes.teams)) return false;
    }
    const std::vector<int>& bounds = shape.most_activations;
    if (bounds.empty()) return true;
    return bounds.size() == static_cast<std::size_t>(shape.teams) &&
           std::equal(bounds.begin() + sizes.teams, bounds.end(), bounds.begin());
}

PipelineShape shape_of_row(PipelineShape shape, const RowSizes& sizes) {
    shape.teams = sizes.teams;
    shape.microbatches = sizes.microbatches;
    for (std::vector<int>& holders : shape.holders) holders.resize(1);
    for (std::vector<int>& executor : shape.executor)
        executor.resize(static_cast<std::size_t>(sizes.microbatches));
    if (!shape.most_activations.empty()) shape.most_activations.resize(static_cast<std::size_t>(sizes.teams));
    return shape;
}

// Returns the program with the micro-batch numbers of a single row, or nothing if it works on another row.
std::optional<Program> program_of_row(Program program, const PipelineShape& all, const RowSizes& sizes) {
    for (Instruction& instruction : program) {
        if (!has_microbatch(instruction.op)) continue;
        const int of_step = instruction.microbatch % all.microbatches;
        if (of_step < 0 || of_step >= sizes.microbatches) return std::nullopt;
        instruction.microbatch = all.step_of(instruction.microbatch) * sizes.microbatches + of_step;
    }
    return program;
}

bool is_program_of_row(const Program& program, const Program& of_first, int first_microbatch) {
    return std::ranges::equal(program, of_first, [&](const Instruction& own, Instruction first) {
        if (has_microbatch(first.op)) first.microbatch += first_microbatch;
        return own == first;
    });
}

}  // namespace

Instruction FirstRow::in_row(int row, Instruction instruction) const {
    if (!has_microbatch(instruction.op)) return instruction;
    const int rows_before = shape.step_of(instruction.microbatch) * (rows - 1) + row;
    instruction.microbatch += rows_before * shape.microbatches;
    return instruction;
}

std::vector<Program> FirstRow::programs_of_all() const {
    std::vector<Program> all;
    for (int row = 0; row < rows; ++row) {
        for (const Program& program : programs) {
            Program& own = all.emplace_back(program);
            for (Instruction& instruction : own) instruction = in_row(row, instruction);
        }
    }
    return all;
}

std::optional<FirstRow> first_of_equal_rows(const std::vector<Program>& programs, const PipelineShape& shape) {
    const std::optional<RowSizes> sizes = sizes_of(shape);
    if (!sizes || programs.size() != static_cast<std::size_t>(shape.teams)) return std::nullopt;
    if (!has_equal_rows(shape, *sizes)) return std::nullopt;
    FirstRow first{.rows = sizes->rows, .shape = shape_of_row(shape, *sizes), .programs = {}};
    const auto teams = static_cast<std::size_t>(sizes->teams);
    for (std::size_t t = 0; t < programs.size(); ++t) {
        const int row = static_cast<int>(t / teams);
        if (!is_program_of_row(programs[t], programs[t % teams], row * sizes->microbatches))
            return std::nullopt;
    }
    for (std::size_t t = 0; t < teams; ++t) {
        std::optional<Program> program = program_of_row(programs[t], shape, *sizes);
        if (!program) return std::nullopt;
        first.programs.push_back(*std::move(program));
    }
    return first;
}

}  // namespace trireme::schedule
