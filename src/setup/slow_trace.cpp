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

std::vector<std::string> known_columns() { return {"step", "rank", "factor", "on"}; }

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells;
    for (std::size_t end = line.find(','); end != std::string_view::npos; end = line.find(',')) {
        cells.emplace_back(trimmed(line.substr(0, end)));
        line.remove_prefix(end + 1);
    }
    cells.emplace_back(trimmed(line));
    return cells;
}

template <class Value>
std::optional<Value> parsed(const std::string& text) {
    Value value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
    return value;
}

// The contents of a line.
struct Entry {
    std::size_t step = 1;
    int rank = 0;
    device::SlowFactors factors = {};
};

class Reader {
public:
    Reader(const std::string& file, int ranks) : file_(file), ranks_(ranks) {}

    void take(std::string_view line) {
        ++number_;
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) return;
        if (columns_ == 0) return take_header(line);
        add(entry_of(cells_of(line)));
    }

    SlowTrace finish() && {
        if (columns_ == 0)
            throw ConfigError(cat(file_, " holds no trace; begin it with the line step,rank,factor"));
        if (trace_.of_ranks.empty())
            throw ConfigError(cat(
                file_,
                " has no line after its header; name a step, a rank and its factor from then on, as in 3,1,4"));
        return std::move(trace_);
    }

private:
    std::string place() const { return cat(file_, ", line ", number_); }

    [[noreturn]] void refuse(const std::string& column, const std::string& expectation, const std::string& cell,
                             const std::string& hint = "") const {
        throw ConfigError(
            cat(place(), ": ", column, " expects ", expectation, ", not ", in_quotes(cell), hint));
    }

    void take_header(std::string_view line) {
        const std::vector<std::string> columns = known_columns();
        const std::vector<std::string> given = cells_of(line);
        const bool has_known = given.size() <= columns.size() && given.size() + 1 >= columns.size() &&
                               std::equal(given.begin(), given.end(), columns.begin());
        columns_ = given.size();
        if (has_known) return;
        const auto unknown = std::ranges::find_if(
            given, [&](const std::string& name) { return std::ranges::find(columns, name) == columns.end(); });
        throw ConfigError(cat(place(), ": the header is step,rank,factor or step,rank,factor,on, not ",
                              in_quotes(line), unknown == given.end() ? "" : did_you_mean(*unknown, columns)));
    }

    Entry entry_of(const std::vector<std::string>& cells) const {
        if (cells.size() != columns_) {
            throw ConfigError(cat(place(), " has ", cells.size(), cells.size() == 1 ? " cell" : " cells",
                                  ", and the header names ", columns_, "; write one for each"));
        }
        Entry entry{.step = step_of(cells[0]), .rank = rank_of(cells[1])};
        const double factor = factor_of(cells[2]);
        (is_of_products(cells) ? entry.factors.products : entry.factors.all) = factor;
        return entry;
    }

    std::size_t step_of(const std::string& cell) const {
        const auto step = parsed<std::size_t>(cell);
        if (!step || *step == 0) refuse("step", "a whole number of at least 1", cell);
        if (*step < last_step_) {
            throw ConfigError(cat(place(), " is of step ", *step, ", and the one before it of step ",
                                  last_step_, "; put them in the order of their steps"));
        }
        return *step;
    }

    int rank_of(const std::string& cell) const {
        const auto rank = parsed<std::uint64_t>(cell);
        if (!rank) refuse("rank", "a whole number of at least 0", cell);
        if (*rank >= static_cast<std::uint64_t>(ranks_)) {
            throw ConfigError(cat(place(), " names rank ", *rank, ", and the job has ranks 0 to ", ranks_ - 1,
                                  "; name one of these"));
        }
        return static_cast<int>(*rank);
    }

    double factor_of(const std::string& cell) const {
        const auto factor = parsed<double>(cell);
        constexpr double most = 1000;
        if (!factor || !(*factor >= 1 && *factor <= most)) refuse("factor", "a number from 1 to 1000", cell);
        return *factor;
    }

    bool is_of_products(const std::vector<std::string>& cells) const {
        const std::array<std::string, 2> known{"all", "products"};
        if (cells.size() < known_columns().size() || cells.back().empty() || cells.back() == known[0])
            return false;
        if (cells.back() != known[1])
            refuse("on", "one of all, products", cells.back(), did_you_mean(cells.back(), known));
        return true;
    }

    void add(const Entry& entry) {
        const bool is_new = slowness_in(trace_, entry.rank, entry.step) != entry.factors;
        const auto [known, is_first] = trace_.of_ranks[entry.rank].emplace(entry.step, entry.factors);
        if (!is_first) {
            throw ConfigError(
                cat(place(), " names rank ", entry.rank, " a second time for step ", entry.step, "; keep one"));
        }
        if (is_new) trace_.changes.insert(entry.step);
        last_step_ = entry.step;
    }

    const std::string& file_;
    int ranks_;
    std::size_t number_ = 0;
    std::size_t columns_ = 0;  // 0 before the header
    std::size_t last_step_ = 0;
    SlowTrace trace_;
};

}  // namespace

SlowTrace slow_trace_from_csv(std::string_view text, const std::string& file, int ranks) {
    Reader reader(file, ranks);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        reader.take(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(reader).finish();
}

device::SlowFactors slowness_in(const SlowTrace& trace, int rank, std::size_t step) {
    const auto found = trace.of_ranks.find(rank);
    if (found == trace.of_ranks.end()) return {};
    const auto behind = found->second.upper_bound(step);
    return behind == found->second.begin() ? device::SlowFactors{} : std::prev(behind)->second;
}

}  // namespace trireme::setup
