#include "trireme/comm/agreement.hpp"

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {

void agree(Communicator& group, const std::function<void()>& prepare) {
    std::string complaint;
    try {
        prepare();
    } catch (const ConfigError& error) {
        complaint = error.what();  // not handled here: thrown again below, on every rank
    }
    for (const std::string& text : gather_all(group, complaint)) {
        if (!text.empty()) throw ConfigError(text);
    }
}

}  // namespace trireme
