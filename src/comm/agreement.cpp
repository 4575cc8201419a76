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
std::array<double, 4> compute_digest(const std::string& text) {
    constexpr std::size_t digits = 8;  // 32 bits
    const std::string hex = sha256_hex(text);
    std::array<double, 4> digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) {
        std::uint32_t value = 0;
        const char* const begin = hex.data() + i * digits;
        std::from_chars(begin, begin + digits, value, 16);
        digest[i] = value;
    }
    return digest;
}

// Collective over `group`. Returns true if all ranks have the same text.
bool is_same_on_all_ranks(Communicator& group, const std::string& text) {
    const std::array<double, 4> own_digest = compute_digest(text);
    const std::vector<double> digests = all_gather(group, own_digest);
    for (std::size_t i = own_digest.size(); i < digests.size(); ++i) {
        if (digests[i] != digests[i % own_digest.size()]) return false;
    }
    return true;
}

std::string describe_ranks_with(const std::string& value, const std::vector<std::string>& values) {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < values.size(); ++r) {
        if (values[r] == value) ranks.push_back(static_cast<int>(r));
    }
    return cat(ranks.size() == 1 ? "rank " : "ranks ", format_ranges(ranks));
}

// Lists each value with its ranks, in the order of the lowest rank that has it.
std::string describe_difference(const std::string& name, const std::vector<std::string>& values) {
    constexpr std::size_t max_values = 4;
    std::vector<std::string> described_values;
    std::string text = cat("the ranks of this job disagree on ", name, ": ");
    for (const std::string& value : values) {
        if (std::ranges::find(described_values, value) != described_values.end()) continue;
        if (described_values.size() == max_values) return cat(text, ", and more");
        text += cat(described_values.empty() ? "" : ", ", value.empty() ? "not set" : value, " on ",
                    describe_ranks_with(value, values));
        described_values.push_back(value);
    }
    return text;
}

}  // namespace

std::string find_first_complaint(Communicator& group, const std::string& own_complaint) {
    const std::vector<std::string> all = all_gather(group, own_complaint);
    const auto first = std::ranges::find_if_not(all, &std::string::empty);
    return first == all.end() ? std::string() : *first;
}

void run_or_fail_together(Communicator& group, const std::function<void()>& prepare) {
    std::string complaint;
    try {
        prepare();
    } catch (const ConfigError& error) {
        complaint = error.what();  // every rank throws it below
    }
    for (const std::string& text : all_gather(group, complaint)) {
        if (!text.empty()) throw ConfigError(text);
    }
}

void require_same(Communicator& group, const std::vector<CommonSetting>& settings) {
    std::string all;
    for (const CommonSetting& setting : settings) all += cat(setting.name, '=', setting.value, '\n');
    if (is_same_on_all_ranks(group, all)) return;
    const std::vector<double> counts = all_gather(group, std::array{static_cast<double>(settings.size())});
    const auto max_count = static_cast<std::size_t>(std::ranges::max(counts));
    for (std::size_t i = 0; i < max_count; ++i) {
        const CommonSetting setting = i < settings.size() ? settings[i] : CommonSetting{};
        const std::vector<std::string> values = all_gather(group, setting.value);
        if (std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) == values.end()) continue;
        const std::string name = all_gather(group, setting.name).front();
        throw ConfigError(cat(describe_difference(name, values),
                              "; start every rank with the same command line, files and version of trireme"));
    }
    throw BugError("the digests of the ranks' settings differ, but all settings are equal");
}

}  // namespace trireme::comm
