#include "trireme/setup/agreed_start.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::setup {
namespace {

void refuse_complaints(const std::vector<std::string>& complaints) {
    const auto first = std::ranges::find_if(complaints, [](const std::string& each) { return !each.empty(); });
    if (first == complaints.end()) return;
    const bool is_of_all = std::ranges::count(complaints, *first) == std::ssize(complaints);
    throw ConfigError(is_of_all ? *first : cat("rank ", first - complaints.begin(), ": ", *first));
}

}  // namespace

void agree_on_start(const comm::Session& session, const std::function<std::vector<comm::Fact>()>& read_facts) {
    std::string complaint;
    std::vector<comm::Fact> facts;
    try {
        facts = read_facts();
    } catch (const ConfigError& error) {
        complaint = error.what();  // thrown again below, on every rank
    }
    const auto group = session.all_ranks("start", {.stall_seconds = session.stall_seconds()});
    refuse_complaints(gather_all(*group, complaint));
    require_same(*group, facts);
}

}  // namespace trireme::setup
