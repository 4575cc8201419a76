#include "trireme/setup/slow_trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::setup {
namespace {

std::vector<std::string> list_columns() { return {"step", "rank", "factor", "on"}; }

std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string> split_cells(std::string_view line) {
    std::vector<std::string> cells;
    for (std::size_t end = line.find(','); end != std::string_view::npos; end = line.find(',')) {
        cells.emplace_back(trim(line.substr(0, end)));
        line.remove_prefix(end + 1);
    }
    cells.emplace_back(trim(line));
    return cells;
}

// Returns nothing unless the whole text is a number of type `Value`.
template <class Value>
std::optional<Value> parse_value(const std::string& text) {
    Value value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
    return value;
}

struct TraceLine {
    std::size_t step = 1;
    int rank = 0;
    device::SlowFactors factors = {};
};

// Builds a trace from the lines of its file.
class TraceParser {
public:
    TraceParser(const std::string& file, int ranks) : file_(file), ranks_(ranks) {}

    void parse_line(std::string_view line) {
        ++line_number_;
        line = trim(line.substr(0, line.find('#')));
        if (line.empty()) return;
        if (column_count_ == 0) return parse_header(line);
        add(parse_cells(split_cells(line)));
    }

    SlowTrace take_trace() && {
        if (column_count_ == 0)
            throw ConfigError(cat(file_, " has no header; begin the file with the line step,rank,factor"));
        if (trace_.factors_by_rank.empty())
            throw ConfigError(cat(file_,
                                  " has no line after its header; add lines such as 3,1,4: from step 3 on, "
                                  "rank 1 has the factor 4"));
        return std::move(trace_);
    }

private:
    std::string describe_place() const { return cat(file_, ", line ", line_number_); }

    [[noreturn]] void refuse_cell(const std::string& column, const std::string& expectation,
                                  const std::string& cell, const std::string& hint = "") const {
        throw ConfigError(
            cat(describe_place(), ": ", column, " expects ", expectation, ", not ", quote_text(cell), hint));
    }

    void parse_header(std::string_view line) {
        const std::vector<std::string> columns = list_columns();
        const std::vector<std::string> header = split_cells(line);
        const bool is_valid = header.size() <= columns.size() && header.size() + 1 >= columns.size() &&
                              std::equal(header.begin(), header.end(), columns.begin());
        column_count_ = header.size();
        if (is_valid) return;
        const auto unknown_name = std::ranges::find_if(
            header, [&](const std::string& name) { return std::ranges::find(columns, name) == columns.end(); });
        throw ConfigError(cat(describe_place(), ": the header is step,rank,factor or step,rank,factor,on, not ",
                              quote_text(line),
                              unknown_name == header.end() ? "" : suggest_word(*unknown_name, columns)));
    }

    TraceLine parse_cells(const std::vector<std::string>& cells) const {
        if (cells.size() != column_count_) {
            throw ConfigError(cat(describe_place(), " has ", cells.size(),
                                  cells.size() == 1 ? " cell" : " cells", ", but the header names ",
                                  column_count_, " columns; write one cell per column"));
        }
        TraceLine line{.step = parse_step(cells[0]), .rank = parse_rank(cells[1])};
        const double factor = parse_factor(cells[2]);
        (slows_only_matmuls(cells) ? line.factors.matmuls : line.factors.all) = factor;
        return line;
    }

    std::size_t parse_step(const std::string& cell) const {
        const auto step = parse_value<std::size_t>(cell);
        if (!step || *step == 0) refuse_cell("step", "a whole number of at least 1", cell);
        if (*step < last_step_) {
            throw ConfigError(cat(describe_place(), " has step ", *step, ", but the line before it has step ",
                                  last_step_, "; sort the lines by step"));
        }
        return *step;
    }

    int parse_rank(const std::string& cell) const {
        const auto rank = parse_value<std::uint64_t>(cell);
        if (!rank) refuse_cell("rank", "a whole number of at least 0", cell);
        if (*rank >= static_cast<std::uint64_t>(ranks_)) {
            throw ConfigError(cat(describe_place(), " names rank ", *rank, ", but the job has ranks 0 to ",
                                  ranks_ - 1, "; name one of these"));
        }
        return static_cast<int>(*rank);
    }

    double parse_factor(const std::string& cell) const {
        const auto factor = parse_value<double>(cell);
        constexpr double max_factor = 1000;
        if (!factor || !(*factor >= 1 && *factor <= max_factor))
            refuse_cell("factor", "a number from 1 to 1000", cell);
        return *factor;
    }

    bool slows_only_matmuls(const std::vector<std::string>& cells) const {
        const std::array<std::string, 2> choices{"all", "products"};
        if (cells.size() < list_columns().size() || cells.back().empty() || cells.back() == choices[0])
            return false;
        if (cells.back() != choices[1])
            refuse_cell("on", "one of all, products", cells.back(), suggest_word(cells.back(), choices));
        return true;
    }

    void add(const TraceLine& line) {
        const bool changes_factors = find_slowness(trace_, line.rank, line.step) != line.factors;
        const auto [position, is_new] = trace_.factors_by_rank[line.rank].emplace(line.step, line.factors);
        if (!is_new) {
            throw ConfigError(cat(describe_place(), " names rank ", line.rank, " a second time for step ",
                                  line.step, "; keep one of the two lines"));
        }
        if (changes_factors) trace_.change_steps.insert(line.step);
        last_step_ = line.step;
    }

    const std::string& file_;
    int ranks_;                     // number of ranks of the job
    std::size_t line_number_ = 0;   // number of the current line, from 1
    std::size_t column_count_ = 0;  // 0 before the header
    std::size_t last_step_ = 0;     // step of the last line that was added; 0 if there is none
    SlowTrace trace_;
};

}  // namespace

SlowTrace parse_slow_trace(std::string_view text, const std::string& file, int ranks) {
    TraceParser parser(file, ranks);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        parser.parse_line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(parser).take_trace();
}

device::SlowFactors find_slowness(const SlowTrace& trace, int rank, std::size_t step) {
    const auto found = trace.factors_by_rank.find(rank);
    if (found == trace.factors_by_rank.end()) return {};
    const auto& factors_by_step = found->second;
    const auto next = factors_by_step.upper_bound(step);
    return next == factors_by_step.begin() ? device::SlowFactors{} : std::prev(next)->second;
}

}  // namespace trireme::setup
