#include "trireme/comm/agreement.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::comm {
namespace {

// Returns half of the SHA-256 digest of `text`, as numbers that a double holds exactly.
std::array<double, 4> digest_of(const std::string& text) {
    constexpr std::size_t digits = 8;  // 32 bits
    const std::string hex = sha256_hex(text);
    std::array<double, 4> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::uint32_t word = 0;
        const char* const begin = hex.data() + i * digits;
        std::from_chars(begin, begin + digits, word, 16);
        words[i] = word;
    }
    return words;
}

// Collective over `group`. True if all ranks have the same text.
bool is_same_everywhere(Communicator& group, const std::string& text) {
    const std::array<double, 4> own = digest_of(text);
    const std::vector<double> all = gather_all(group, own);
    for (std::size_t i = own.size(); i < all.size(); ++i) {
        if (all[i] != all[i % own.size()]) return false;
    }
    return true;
}

std::string ranks_with(const std::string& value, const std::vector<std::string>& values) {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < values.size(); ++r) {
        if (values[r] == value) ranks.push_back(static_cast<int>(r));
    }
    return cat(ranks.size() == 1 ? "rank " : "ranks ", number_list(ranks));
}

// Lists each value with its ranks, in the order of the lowest rank that has it.
std::string describe_difference(const std::string& name, const std::vector<std::string>& values) {
    constexpr std::size_t max_shown = 4;
    std::vector<std::string> shown;
    std::string text = cat("the ranks of this job disagree on ", name, ": ");
    for (const std::string& value : values) {
        if (std::ranges::find(shown, value) != shown.end()) continue;
        if (shown.size() == max_shown) return cat(text, ", and more");
        text += cat(shown.empty() ? "" : ", ", value.empty() ? "not set" : value, " on ",
                    ranks_with(value, values));
        shown.push_back(value);
    }
    return text;
}

}  // namespace

std::string first_complaint(Communicator& group, const std::string& own) {
    const std::vector<std::string> all = gather_all(group, own);
    const auto first = std::ranges::find_if_not(all, &std::string::empty);
    return first == all.end() ? std::string() : *first;
}

void agree(Communicator& group, const std::function<void()>& prepare) {
    std::string complaint;
    try {
        prepare();
    } catch (const ConfigError& error) {
        complaint = error.what();  // thrown again below, on every rank
    }
    for (const std::string& text : gather_all(group, complaint)) {
        if (!text.empty()) throw ConfigError(text);
    }
}

void require_same(Communicator& group, const std::vector<Fact>& facts) {
    std::string all;
    for (const Fact& fact : facts) all += cat(fact.name, '=', fact.value, '\n');
    if (is_same_everywhere(group, all)) return;
    const std::vector<double> counts = gather_all(group, std::array{static_cast<double>(facts.size())});
    const auto most = static_cast<std::size_t>(std::ranges::max(counts));
    for (std::size_t i = 0; i < most; ++i) {
        const Fact fact = i < facts.size() ? facts[i] : Fact{};
        const std::vector<std::string> values = gather_all(group, fact.value);
        if (std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) == values.end()) continue;
        const std::string name = gather_all(group, fact.name).front();
        throw ConfigError(cat(describe_difference(name, values),
                              "; start every rank with the same command line, files and version of trireme"));
    }
    throw BugError("the digests of the ranks' facts differ, and their values are equal");
}

}  // namespace trireme::comm
