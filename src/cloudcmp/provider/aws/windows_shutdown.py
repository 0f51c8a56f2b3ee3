"""The end that is built into a Windows machine: what its launch agent runs at each boot."""

import math
from datetime import UTC, datetime

# EC2Launch (2016 and later) and EC2Config run what stands in `powershell`; `persist` has it run at every boot, so that
# the task is there again even where somebody removed it. The task's time is absolute: a restart does not put it off,
# and one that was missed is made up for. A clock that is ahead makes it sooner; one that stays behind makes it later,
# by at most its lag after restarts.
# https://docs.aws.amazon.com/AWSEC2/latest/WindowsGuide/ec2-windows-user-data.html
_SCRIPT = """<powershell>
$now = (Get-Date).ToUniversalTime()
$end = [DateTime]::SpecifyKind([DateTime]'{end}', [DateTimeKind]::Utc)
if ($end -gt $now.AddSeconds({ttl_s})) {{ $end = $now.AddSeconds({ttl_s}) }}
if ($end -lt $now.AddSeconds(5)) {{ $end = $now.AddSeconds(5) }}
$left = [int][Math]::Ceiling(($end - $now).TotalSeconds)
try {{
  $off = New-ScheduledTaskAction -Execute 'shutdown.exe' -Argument '/s /f /t 0' -ErrorAction Stop
  $once = New-ScheduledTaskTrigger -Once -At $end.ToLocalTime() -ErrorAction Stop
  $late = New-ScheduledTaskSettingsSet -StartWhenAvailable -ErrorAction Stop
  $task = @{{ TaskName = 'cloudcmp-ttl'; User = 'SYSTEM'; RunLevel = 'Highest'; Force = $true }}
  Register-ScheduledTask @task -Action $off -Trigger $once -Settings $late -ErrorAction Stop
}} catch {{
  shutdown.exe /s /f /t $left
}}
</powershell>
<persist>true</persist>
"""


def windows_shutdown(asked_at: float, ttl_s: float) -> str:
    """User data that shuts a Windows machine down `ttl_s` seconds after it was asked for (Unix s), whatever boots.

    Nothing of a study is in the text but that time. The cloud tells our clock to be right before it takes a request.
    """
    seconds = math.ceil(ttl_s)
    end = datetime.fromtimestamp(math.ceil(asked_at) + seconds, UTC)
    return _SCRIPT.format(end=end.strftime("%Y-%m-%dT%H:%M:%S"), ttl_s=seconds)
