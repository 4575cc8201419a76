#include "trireme/layout/row_messages.hpp"

#include "trireme/layout/shares.hpp"

namespace trireme::layout {
namespace {

std::vector<RowMessage> whole_rows(std::size_t rows, const std::vector<int>& senders,
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

std::vector<RowMessage> cut_rows(std::size_t rows, const std::vector<int>& senders,
                                 const std::vector<int>& receivers) {
    const std::vector<Range> sent = cut_evenly(rows, senders.size());
    const std::vector<Range> wanted = cut_evenly(rows, receivers.size());
    std::vector<RowMessage> messages;
    for (std::size_t s = 0; s < senders.size(); ++s) {
        for (std::size_t r = 0; r < receivers.size(); ++r) {
            const Range common = intersection(sent[s], wanted[r]);
            if (common.count > 0) messages.push_back({senders[s], receivers[r], common});
        }
    }
    return messages;
}

}  // namespace

std::vector<RowMessage> row_messages(std::size_t rows, const std::vector<int>& senders,
                                     const std::vector<int>& receivers, bool are_rows_cut) {
    return are_rows_cut ? cut_rows(rows, senders, receivers) : whole_rows(rows, senders, receivers);
}

}  // namespace trireme::layout
