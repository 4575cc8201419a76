#include "trireme/setup/start_agreement.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::setup {
namespace {

// Throws ConfigError with the complaint of the lowest rank that has one. `complaints` has one entry per rank,
// empty for a rank without a complaint.
void throw_first_complaint(const std::vector<std::string>& complaints) {
    const auto first = std::ranges::find_if(complaints, [](const std::string& each) { return !each.empty(); });
    if (first == complaints.end()) return;
    const bool is_same_on_all_ranks = std::ranges::count(complaints, *first) == std::ssize(complaints);
    throw ConfigError(is_same_on_all_ranks ? *first : cat("rank ", first - complaints.begin(), ": ", *first));
}

}  // namespace

void agree_on_start(const comm::Session& session,
                    const std::function<std::vector<comm::CommonSetting>()>& read_facts) {
    std::string complaint;
    std::vector<comm::CommonSetting> facts;
    try {
        facts = read_facts();
    } catch (const ConfigError& error) {
        complaint = error.what();  // every rank throws it below
    }
    const auto group = session.make_group_of_all_ranks("start", {.stall_seconds = session.stall_seconds()});
    throw_first_complaint(all_gather(*group, complaint));
    require_same(*group, facts);
}

}  // namespace trireme::setup
