#include "trireme/layout/row_messages.hpp"

#include "trireme/layout/shares.hpp"

namespace trireme::layout {
namespace {

std::vector<RowMessage> plan_whole_messages(std::size_t rows, const std::vector<int>& senders,
                                            const std::vector<int>& receivers) {
    std::vector<RowMessage> messages;
    if (rows == 0) return messages;
    for (std::size_t s = 0; s < senders.size(); ++s) {
        for (std::size_t r = s; r < receivers.size(); r += senders.size()) {
            messages.push_back({senders[s], receivers[r], {0, rows}});
        }
    }
    return messages;
}

std::vector<RowMessage> plan_cut_messages(std::size_t rows, const std::vector<int>& senders,
                                          const std::vector<int>& receivers) {
    const std::vector<Range> sender_rows = cut_evenly(rows, senders.size());
    const std::vector<Range> receiver_rows = cut_evenly(rows, receivers.size());
    std::vector<RowMessage> messages;
    for (std::size_t s = 0; s < senders.size(); ++s) {
        for (std::size_t r = 0; r < receivers.size(); ++r) {
            const Range common = intersect(sender_rows[s], receiver_rows[r]);
            if (common.count > 0) messages.push_back({senders[s], receivers[r], common});
        }
    }
    return messages;
}

}  // namespace

std::vector<RowMessage> plan_row_messages(std::size_t rows, const std::vector<int>& senders,
                                          const std::vector<int>& receivers, bool are_rows_cut) {
    return are_rows_cut ? plan_cut_messages(rows, senders, receivers)
                        : plan_whole_messages(rows, senders, receivers);
}

}  // namespace trireme::layout
