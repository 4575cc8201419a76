// The time: seconds since some moment in the past, never going back.
#pragma once

namespace trireme {

double now_seconds();

}  // namespace trireme
