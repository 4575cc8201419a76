#include "trireme/base/task.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

const char* name_of(Task task) {
    switch (task) {
        case Task::language:
            return "language";
        case Task::masked:
            return "masked";
        case Task::span:
            return "span";
        case Task::classify:
            return "classify";
    }
    throw BugError("unknown task");
}

}  // namespace trireme
